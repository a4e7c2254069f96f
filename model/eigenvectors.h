// Eigenvalues and eigenvectors of a symmetric matrix. A file of its own because Eigen is templates, which take minutes where
// the compiler does not optimize and tens of seconds under a sanitizer: see CMakeLists.txt.
#pragma once

#include <vector>

namespace mnistd::model {

struct Eigenpairs {
  std::vector<double> values;   // n, ascending
  std::vector<double> vectors;  // n×n, row j is the one of value j; orthonormal
};

// `matrix` is n×n and symmetric. Throws std::runtime_error where they were not found.
Eigenpairs eigenpairs(const std::vector<double>& matrix, int n);

}  // namespace mnistd::model
