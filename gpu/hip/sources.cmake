# The sources of the HIP device, which amd/, nvidia/ and emulator/ build each in its own way.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH gpu)
cmake_path(GET gpu PARENT_PATH MNISTD_HIP_ROOT)  # from which includes are written
set(MNISTD_HIP_PLATFORM ${gpu}/platform)

set(MNISTD_HIP_KERNELS count_correct finish_pass gradient_1_plain gradient_2_tiled gradient_3_registers
                       gram_1_plain gram_2_dot4 gram_begin gram_finish gram_mirror gram_step_1_plain
                       gram_step_2_one_launch gram_step_3_cooperative initialise
                       limit_copy limit_dot4 limit_fma pack pass_2_fused
                       reduce_gradient reduce_gram_statistics reduce_statistics
                       residual_1_plain residual_2_tiled residual_3_registers residual_4_scalar
                       residual_5_ping_pong scores step)
# Only where the platform has byte matrices (platform.h): NVIDIA, and the emulator with a wavefront of 32.
set(MNISTD_HIP_MATRIX_KERNELS gram_3_matrix pass_3_digits)
list(TRANSFORM MNISTD_HIP_MATRIX_KERNELS REPLACE "(.+)" "${gpu}/kernels/\\1.hip")
list(TRANSFORM MNISTD_HIP_KERNELS REPLACE "(.+)" "${gpu}/kernels/\\1.hip")
set(MNISTD_HIP_HOST check device_choice device_memory gram_descent hip_device hip_ops limits setting staging)
list(TRANSFORM MNISTD_HIP_HOST REPLACE "(.+)" "${gpu}/hip/\\1.cpp")
list(APPEND MNISTD_HIP_HOST ${gpu}/kernels/variants.cpp)

# mnistd_hip_<platform>, to link: all of the archive, not only what is asked for by those before it on the command line.
function(mnistd_hip_library platform)
  add_library(mnistd_hip_${platform} INTERFACE)
  target_link_libraries(mnistd_hip_${platform} INTERFACE "$<LINK_LIBRARY:WHOLE_ARCHIVE,mnistd_hip_${platform}_archive>")
endfunction()
