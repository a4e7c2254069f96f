#include "model/eigenvectors.h"

#include <Eigen/Eigenvalues>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace mnistd::model {

Eigenpairs eigenpairs(const std::vector<double>& matrix, int n) {
  const auto size = static_cast<std::size_t>(n);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
      Eigen::Map<const Eigen::MatrixXd>(matrix.data(), n, n));
  if (solver.info() != Eigen::Success)
    throw std::runtime_error("the eigenvalues of a matrix of " + std::to_string(n) + " rows were not found");
  Eigenpairs pairs{std::vector<double>(size), std::vector<double>(size * size)};
  Eigen::Map<Eigen::VectorXd>(pairs.values.data(), n) = solver.eigenvalues();
  // Columns lie side by side in Eigen: one after the other they are the rows wanted.
  Eigen::Map<Eigen::MatrixXd>(pairs.vectors.data(), n, n) = solver.eigenvectors();
  return pairs;
}

}  // namespace mnistd::model
