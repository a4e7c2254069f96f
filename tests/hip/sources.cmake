# The tests that run on every platform; gpu/hip/nvidia/standalone builds them too.
set(MNISTD_HIP_TESTS check_test choice_test device_test gram_descent_test gram_test limits_test main operations_test training_test
                     ../gpu/formulas ../model/float64_descent ../model/synthetic)
list(TRANSFORM MNISTD_HIP_TESTS REPLACE "(.+)" "${CMAKE_CURRENT_LIST_DIR}/\\1.cpp")
