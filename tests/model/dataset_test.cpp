#include "model/dataset.h"

#include <doctest/doctest.h>

#include "tests/model/contains.h"
#include "tests/model/idx_bytes.h"

using namespace mnistd;
using namespace mnistd::test;

namespace {

// A directory with four good files of 3 and 2 images, one of which a test then spoils.
struct FourFiles : TemporaryDirectory {
  FourFiles() {
    write("train-images-idx3-ubyte", image_bytes(3));
    write("train-labels.idx1-ubyte", label_bytes(3));
    write("t10k-images-idx3-ubyte.gz", gzip(image_bytes(2)));
    write("t10k-labels.idx1-ubyte.gz", gzip(label_bytes(2)));
  }
  std::string error() const {
    return dataset_error([this] { model::load_dataset("mnist", path()); });
  }
  std::string named(const std::string& file) const { return (path() / file).string() + ": "; }
};

}  // namespace

TEST_CASE("four files in any spelling make a dataset") {
  const FourFiles files;
  const auto dataset = model::load_dataset("tiny", files.path());
  CHECK(dataset->name == "tiny");
  CHECK(dataset->train.count() == 3);
  CHECK(dataset->test.count() == 2);
  CHECK(dataset->train.labels == std::vector<std::uint8_t>{0, 1, 2});
  CHECK(dataset->split(model::SplitName::test).image(1)[5] == (784 + 5) % 251);
  CHECK(&dataset->split(model::SplitName::train) == &dataset->train);
}

TEST_CASE("a dataset's digest is that of its bytes, however they are packed and whatever it is called") {
  const FourFiles files;
  // XXH64 over train pixels, train labels, test pixels, test labels, each seeded by the one before; by the xxHash library.
  constexpr const char* kExpected = "5542e2de07d7b895";
  CHECK(model::load_dataset("tiny", files.path())->digest == kExpected);
  files.write("train-images-idx3-ubyte", gzip(image_bytes(3)));
  CHECK(model::load_dataset("other", files.path())->digest == kExpected);

  std::string pixels = image_bytes(3);
  std::string labels = label_bytes(2);
  SUBCASE("a bit of the last training pixel") { pixels.back() = static_cast<char>(pixels.back() ^ 1); }
  SUBCASE("a test label") { labels.back() = 7; }
  files.write("train-images-idx3-ubyte", pixels);
  files.write("t10k-labels.idx1-ubyte.gz", gzip(labels));
  CHECK(model::load_dataset("tiny", files.path())->digest != kExpected);
}

TEST_CASE("split names") {
  CHECK(model::to_string(model::SplitName::train) == "train");
  CHECK(model::to_string(model::SplitName::test) == "test");
  CHECK(model::parse_split("train") == model::SplitName::train);
  CHECK(model::parse_split("test") == model::SplitName::test);
  CHECK(!model::parse_split("Test"));
  CHECK(!model::parse_split(""));
}

TEST_CASE("files that do not fit together") {
  const FourFiles files;
  SUBCASE("a missing file is named before any is read") {
    files.write("train-images-idx3-ubyte", "");
    std::filesystem::remove(files.path() / "t10k-labels.idx1-ubyte.gz");
    CHECK(files.error() == Contains(": holds no t10k-labels-idx1-ubyte (looked for"));
  }
  SUBCASE("fewer labels than images") {
    files.write("train-labels.idx1-ubyte", label_bytes(2));
    CHECK(files.error() == files.named("train-labels.idx1-ubyte") +
                               "holds 2 labels; expected 3, one for each image of " +
                               (files.path() / "train-images-idx3-ubyte").string());
  }
  SUBCASE("a label that is no digit") {
    files.write("train-labels.idx1-ubyte", idx_bytes(8, {3}, std::string("\x09\x0a\x0b", 3)));
    CHECK(files.error() ==
          files.named("train-labels.idx1-ubyte") + "holds label 10 at index 1; expected labels 0 to 9");
  }
  SUBCASE("another size of image") {
    files.write("train-images-idx3-ubyte", image_bytes(3, 32, 16));
    CHECK(files.error() ==
          files.named("train-images-idx3-ubyte") + "holds images of 32x16 pixels; expected 28x28");
  }
  SUBCASE("no images") {
    files.write("t10k-images-idx3-ubyte.gz", image_bytes(0));
    files.write("t10k-labels.idx1-ubyte.gz", label_bytes(0));
    CHECK(files.error() ==
          files.named("t10k-images-idx3-ubyte.gz") + "holds no images; expected at least one");
  }
  SUBCASE("labels and images changed about") {
    files.write("train-images-idx3-ubyte", label_bytes(3));
    CHECK(files.error() ==
          files.named("train-images-idx3-ubyte") +
              "holds labels (1 dimension); expected an IDX file of images (3 dimensions of unsigned "
              "bytes)");
  }
}
