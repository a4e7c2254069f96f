// The same work by OpenBLAS: the rival of mnistd bench on the CPU.
//
//   openblas_peer DATASET_DIR [THREADS [ITERATIONS]]
//
// Speaks lines of JSON with compare.py. The first line says what it is and which losses its trainings reached; then every
// line "round" on standard input is answered by one with the times of all cases, in ms, and the end of the input ends it.
//
// What is fair about it. Only the products are timed, not what else an iteration takes (residuals, loss, step), and the images
// lie ready as floats, four times our bytes. Each of X, R and W may lie by rows or by columns, and for each product the
// layout of X is the quickest of both, as two copies are ready; R and W lie as is best for the pair. The environment's choice
// of a kernel is taken away before the library is loaded, so that it uses its best for this processor; which, is said.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cblas.h>
#include <unistd.h>
#include <zlib.h>

namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

constexpr int kPixels = 784, kFeatures = 785, kClasses = 10;
constexpr float kRate = 0.01f;
constexpr std::uint32_t kSeed = 1234567;

// A matrix in memory: rows or columns side by side.
struct Matrix {
  int rows = 0, columns = 0;
  bool by_rows = true;
  std::vector<float> values;

  Matrix(int r, int c, bool rows_first)
      : rows(r),
        columns(c),
        by_rows(rows_first),
        values(static_cast<std::size_t>(r) * static_cast<std::size_t>(c)) {}
  int stride() const { return by_rows ? columns : rows; }
  float& at(int r, int c) {
    return by_rows ? values[static_cast<std::size_t>(r) * static_cast<std::size_t>(columns) +
                            static_cast<std::size_t>(c)]
                   : values[static_cast<std::size_t>(c) * static_cast<std::size_t>(rows) +
                            static_cast<std::size_t>(r)];
  }
  Matrix laid(bool rows_first) {
    Matrix other(rows, columns, rows_first);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) other.at(r, c) = at(r, c);
    }
    return other;
  }
  const char* layout() const { return by_rows ? "by rows" : "by columns"; }
};

// result = scale·(left or its transpose)·right.
void multiply(float scale, const Matrix& left, bool transposed, const Matrix& right, Matrix& result) {
  const auto order = result.by_rows ? CblasRowMajor : CblasColMajor;
  const auto how = [&](const Matrix& matrix, bool flip) {
    return (matrix.by_rows != result.by_rows) != flip ? CblasTrans : CblasNoTrans;
  };
  const int inner = transposed ? left.rows : left.columns;
  cblas_sgemm(order, how(left, transposed), how(right, false), result.rows, result.columns, inner, scale,
              left.values.data(), left.stride(), right.values.data(), right.stride(), 0.0f,
              result.values.data(), result.stride());
}

std::vector<unsigned char> read_idx(const std::string& directory, const std::string& name,
                                    std::size_t header) {
  for (const char* ending : {"", ".gz"}) {
    gzFile file = gzopen((directory + "/" + name + ending).c_str(), "rb");
    if (file == nullptr) continue;
    std::vector<unsigned char> bytes, piece(std::size_t{1} << 20);
    for (int got = 0; (got = gzread(file, piece.data(), static_cast<unsigned>(piece.size()))) > 0;)
      bytes.insert(bytes.end(), piece.begin(), piece.begin() + got);
    gzclose(file);
    if (bytes.size() <= header) throw std::runtime_error(name + " is too short");
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
    return bytes;
  }
  throw std::runtime_error("no " + name + " in " + directory);
}

double milliseconds(const std::function<void()>& work, int calls) {
  const Clock::time_point begin = Clock::now();
  for (int call = 0; call < calls; ++call) work();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count() / calls;
}

double trial(const std::function<void()>& work) {
  work();
  double least = milliseconds(work, 1);
  const int calls = std::max(1, static_cast<int>(2 / least));
  for (int run = 0; run < 3; ++run) least = std::min(least, milliseconds(work, calls));
  return least;
}

class Case {
 public:
  Case(std::string named, std::string of, std::string by, std::function<void()> what)
      : name(std::move(named)), ours(std::move(of)), how(std::move(by)), work(std::move(what)) {}

  std::string name, ours, how;
  std::function<void()> work;

  ordered_json round() const {
    work();
    const int calls = std::clamp(static_cast<int>(2 / milliseconds(work, 1)), 1, 1000);
    std::vector<double> times, processor;
    const Clock::time_point begin = Clock::now();
    while (times.size() < 15 &&
           (times.size() < 3 || std::chrono::duration<double>(Clock::now() - begin).count() < 1.5)) {
      const std::clock_t ticks = std::clock();
      times.push_back(milliseconds(work, calls));
      processor.push_back(1e3 * static_cast<double>(std::clock() - ticks) / CLOCKS_PER_SEC / calls);
    }
    ordered_json json = summary(std::move(times));
    json["processor"] = summary(std::move(processor));
    return json;
  }

 private:
  static ordered_json summary(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    return {{"median", median}, {"least", values.front()}, {"most", values.back()}};
  }
};

class Peer {
 public:
  Peer(const std::string& directory, int iterations)
      : labels_(read_idx(directory, "train-labels-idx1-ubyte", 8)),
        images_(static_cast<int>(labels_.size())),
        iterations_(iterations),
        by_image_(images_, kFeatures, true),
        by_feature_(0, 0, false) {
    const std::vector<unsigned char> pixels = read_idx(directory, "train-images-idx3-ubyte", 16);
    if (pixels.size() != labels_.size() * kPixels)
      throw std::runtime_error("images and labels are not as many");
    for (int i = 0; i < images_; ++i) {
      for (int p = 0; p < kPixels; ++p)
        by_image_.at(i, p) =
            pixels[static_cast<std::size_t>(i) * kPixels + static_cast<std::size_t>(p)] / 255.0f;
      by_image_.at(i, kPixels) = 1;
    }
    by_feature_ = by_image_.laid(false);
    prepare_gemm();
    prepare_gram();
  }

  ordered_json introduction(int threads) {
    ordered_json listed = ordered_json::array();
    for (const Case& each : cases_)
      listed.push_back({{"name", each.name}, {"ours", each.ours}, {"how", each.how}});
    const std::string kernel = openblas_get_corename();
    return {{"peer", "OpenBLAS"},
            {"device", kernel + " kernels, " + std::to_string(threads) + " threads"},
            {"what", openblas_get_config()},
            {"images", images_},
            {"trainings", trainings_},
            {"cases", listed}};
  }
  ordered_json round() const {
    ordered_json times;
    for (const Case& each : cases_) times[each.name] = each.round();
    return times;
  }

 private:
  // Of the layouts of X the quicker: the time is left in `least`.
  const Matrix& best_images(const std::function<void(const Matrix& x)>& product, double& least) {
    const double rows = trial([&] { product(by_image_); }), columns = trial([&] { product(by_feature_); });
    least = std::min(rows, columns);
    return rows <= columns ? by_image_ : by_feature_;
  }

  // Scores are R = X Wᵀ, n×10; the gradient Rᵀ X, 10×785. R and W by rows or by columns.
  void prepare_gemm() {
    double best = INFINITY;
    for (const bool r_by_rows : {true, false}) {
      for (const bool w_by_rows : {true, false}) {
        Matrix r(images_, kClasses, r_by_rows), w = initial_weights(w_by_rows),
                                                g(kClasses, kFeatures, w_by_rows);
        Matrix w_transposed(kFeatures, kClasses, !w_by_rows);
        w_transposed.values = w.values;
        double forward = 0, backward = 0;
        const Matrix& x_forward =
            best_images([&](const Matrix& x) { multiply(1, x, false, w_transposed, r); }, forward);
        const Matrix& x_backward =
            best_images([&](const Matrix& x) { multiply(1, r, true, x, g); }, backward);
        if (forward + backward >= best) continue;
        best = forward + backward;
        pair_ = {&x_forward, &x_backward, r_by_rows, w_by_rows};
      }
    }
    residual_ = Matrix(images_, kClasses, pair_.r_by_rows);
    weights_ = Matrix(kFeatures, kClasses, !pair_.w_by_rows);  // Wᵀ: the same memory as W
    weights_.values = initial_weights(pair_.w_by_rows).values;
    gradient_ = Matrix(kClasses, kFeatures, pair_.w_by_rows);
    train_gemm();
    cases_.push_back({"gemm, the pair of sgemm", "descend",
                      std::string("X ") + pair_.forward->layout() + " forward, " + pair_.backward->layout() +
                          " backward, R " + residual_.layout() + ", W " + gradient_.layout(),
                      [this] {
                        forward();
                        backward();
                      }});
  }

  static Matrix initial_weights(bool by_rows) {
    Matrix w(kClasses, kFeatures, by_rows);
    for (int c = 0; c < kClasses; ++c) {
      for (int a = 0; a < kFeatures; ++a) {
        std::uint32_t s = static_cast<std::uint32_t>(c * kFeatures + a) + kSeed;
        s = (s ^ s >> 16) * 0x85ebca6bu;
        s = (s ^ s >> 13) * 0xc2b2ae35u;
        s = s ^ s >> 16;
        w.at(c, a) = static_cast<float>(0.01 * ((s >> 8) / 16777216.0 - 0.5));
      }
    }
    return w;
  }

  void forward() { multiply(1, *pair_.forward, false, weights_, residual_); }
  void backward() {
    multiply(2.0f / static_cast<float>(images_), residual_, true, *pair_.backward, gradient_);
  }

  double subtract_labels() {
    double loss = 0;
    for (int i = 0; i < images_; ++i) {
      residual_.at(i, labels_[static_cast<std::size_t>(i)]) -= 1;
      for (int c = 0; c < kClasses; ++c) {
        const double r = residual_.at(i, c);
        loss += r * r;
      }
    }
    return loss / images_;
  }

  void train_gemm() {
    for (int k = 0; k < iterations_; ++k) {
      forward();
      subtract_labels();
      backward();
      for (std::size_t i = 0; i < gradient_.values.size(); ++i)
        weights_.values[i] -= kRate * gradient_.values[i];
    }
    forward();
    trainings_.push_back({{"case", "gemm"},
                          {"iterations", iterations_},
                          {"learning_rate", kRate},
                          {"loss", subtract_labels()}});
  }

  // G/n by ssyrk, of which one triangle is written, and C/n by sgemm with the labels as one-hot rows.
  void build(const Matrix& x_square, const Matrix& x_sums) {
    const float scale = 1.0f / static_cast<float>(images_);
    // Row-major, X by rows: its transpose times itself. X by columns is its transpose by rows: itself times its transpose.
    cblas_ssyrk(CblasRowMajor, CblasUpper, x_square.by_rows ? CblasTrans : CblasNoTrans, kFeatures, images_,
                scale, x_square.values.data(), x_square.stride(), 0.0f, products_.values.data(),
                products_.stride());
    multiply(scale, one_hot_, true, x_sums, class_sums_);
  }

  void prepare_gram() {
    for (int i = 0; i < images_; ++i) one_hot_.at(i, labels_[static_cast<std::size_t>(i)]) = 1;
    double square = 0, sums = 0;
    const float scale = 1.0f / static_cast<float>(images_);
    const Matrix* x_square = &best_images(
        [&](const Matrix& x) {
          cblas_ssyrk(CblasRowMajor, CblasUpper, x.by_rows ? CblasTrans : CblasNoTrans, kFeatures, images_,
                      scale, x.values.data(), x.stride(), 0.0f, products_.values.data(), products_.stride());
        },
        square);
    const Matrix* x_sums =
        &best_images([&](const Matrix& x) { multiply(scale, one_hot_, true, x, class_sums_); }, sums);
    build(*x_square, *x_sums);
    for (int a = 0; a < kFeatures; ++a) {
      for (int b = 0; b < a; ++b) products_.at(a, b) = products_.at(b, a);
    }
    double best = INFINITY;
    for (const bool by_rows : {true, false}) {
      Matrix w = initial_weights(by_rows), wg(kClasses, kFeatures, by_rows);
      const double took = trial([&] { multiply(1, w, false, products_, wg); });
      if (took >= best) continue;
      best = took;
      gram_weights_ = w;
      gram_gradient_ = wg;
    }
    train_gram();
    cases_.push_back({"gram, sgemm of a step", "gram_descend", std::string("W ") + gram_weights_.layout(),
                      [this] { multiply(1, gram_weights_, false, products_, gram_gradient_); }});
    cases_.push_back(
        {"G and C, ssyrk and sgemm", "gram",
         std::string("X ") + x_square->layout() + " for ssyrk, " + x_sums->layout() + " for sgemm",
         [this, x_square, x_sums] { build(*x_square, *x_sums); }});
  }

  void train_gram() {
    for (int k = 0; k < iterations_; ++k) {
      multiply(1, gram_weights_, false, products_, gram_gradient_);
      for (int c = 0; c < kClasses; ++c) {
        for (int a = 0; a < kFeatures; ++a)
          gram_weights_.at(c, a) -= 2 * kRate * (gram_gradient_.at(c, a) - class_sums_.at(c, a));
      }
    }
    // The loss by the images.
    Matrix transposed(kFeatures, kClasses, !gram_weights_.by_rows);
    transposed.values = gram_weights_.values;
    multiply(1, by_image_, false, transposed, residual_);
    trainings_.push_back({{"case", "gram"},
                          {"iterations", iterations_},
                          {"learning_rate", kRate},
                          {"loss", subtract_labels()}});
  }

  struct Pair {
    const Matrix* forward = nullptr;
    const Matrix* backward = nullptr;
    bool r_by_rows = true, w_by_rows = true;
  };

  std::vector<unsigned char> labels_;
  int images_, iterations_;
  Matrix by_image_, by_feature_;  // X twice
  Pair pair_;
  Matrix residual_{0, 0, true}, weights_{0, 0, true}, gradient_{0, 0, true};
  Matrix one_hot_{images_, kClasses, true}, products_{kFeatures, kFeatures, true},
      class_sums_{kClasses, kFeatures, true};
  Matrix gram_weights_{0, 0, true}, gram_gradient_{0, 0, true};
  std::vector<Case> cases_;
  ordered_json trainings_ = ordered_json::array();
};

// The library reads these when it is loaded, which is before main: so this program starts itself again without them.
void start_without_forced_kernel(char** argv) {
  bool forced = false;
  for (const char* name : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS",
                           "GOTO_NUM_THREADS"}) {
    forced = forced || std::getenv(name) != nullptr;
    unsetenv(name);
  }
  if (!forced) return;
  execv("/proc/self/exe", argv);
  throw std::runtime_error("could not start again without OPENBLAS_CORETYPE");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    start_without_forced_kernel(argv);
    if (argc < 2 || argc > 4) {
      std::cerr << "usage: openblas_peer DATASET_DIR [THREADS [ITERATIONS]]\n";
      return 2;
    }
    const int threads = argc > 2 ? std::stoi(argv[2]) : 2;
    const int iterations = argc > 3 ? std::stoi(argv[3]) : 300;
    if (threads < 1 || iterations < 1) throw std::runtime_error("threads and iterations are at least 1");
    openblas_set_num_threads(threads);
    Peer peer(argv[1], iterations);
    std::cout << peer.introduction(threads) << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      if (line == "round") std::cout << peer.round() << std::endl;
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "openblas_peer: " << error.what() << '\n';
    return 1;
  }
}
