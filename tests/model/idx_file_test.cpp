#include "model/idx_file.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/model/contains.h"
#include "tests/model/idx_bytes.h"

using namespace mnistd;
using namespace mnistd::test;

namespace {

// The error of reading `bytes` as a file of images or labels. It must name the file, whatever else it says.
std::string error_of(const std::string& bytes, int dimensions = 3) {
  const TemporaryDirectory directory;
  const auto file = directory.write("some-file", bytes);
  const std::string message = dataset_error([&] { model::read_idx(file, dimensions); });
  CHECK_MESSAGE(message.starts_with(file.string() + ": "), message);
  return message.substr(std::min(message.size(), file.string().size() + 2));
}

void check_images(const model::IdxFile& idx, std::uint32_t count) {
  CHECK(idx.dimensions == std::vector<std::uint32_t>{count, 28, 28});
  REQUIRE(idx.values.size() == std::size_t{count} * 784);
  bool same = true;
  for (std::size_t i = 0; i < idx.values.size(); ++i) same = same && idx.values[i] == i % 251;
  CHECK(same);
}

long peak_memory_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

TEST_CASE("raw and gzip files are told by their bytes and not by their names") {
  const TemporaryDirectory directory;
  const std::string raw = image_bytes(700);  // longer than the chunks that are inflated
  check_images(model::read_idx(directory.write("a.gz", raw), 3), 700);
  check_images(model::read_idx(directory.write("b", gzip(raw)), 3), 700);
  check_images(model::read_idx(directory.write("c", gzip(raw, 0)), 3), 700);
  CHECK(model::read_idx(directory.write("d", label_bytes(12)), 1).values ==
        std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1});
}

TEST_CASE("a gzip file of several members is one file, wherever it is cut") {
  const TemporaryDirectory directory;
  const std::string raw = image_bytes(2);
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{10},
                                std::size_t{16}, std::size_t{17}, raw.size() - 1, raw.size()})
    check_images(model::read_idx(directory.write("x", gzip(raw.substr(0, cut)) + gzip(raw.substr(cut))), 3),
                 2);
}

TEST_CASE("a missing file, a directory and other things that are no file") {
  const TemporaryDirectory directory;
  const auto missing = directory.path() / "train-images-idx3-ubyte";
  std::string message = dataset_error([&] { model::read_idx(missing, 3); });
  CHECK(message == missing.string() + ": no such file; script/bootstrap fetches the MNIST files");
  message = dataset_error([&] { model::read_idx(directory.path(), 3); });
  CHECK(message == directory.path().string() + ": is a directory; expected an IDX file");
  const auto pipe = directory.path() / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  message = dataset_error([&] { model::read_idx(pipe, 3); });
  CHECK(message == pipe.string() + ": is not a regular file; expected an IDX file");
}

TEST_CASE("an empty file") {
  CHECK(error_of("") == "is empty; expected an IDX file of images (3 dimensions of unsigned bytes)");
  CHECK(error_of("", 1) == "is empty; expected an IDX file of labels (1 dimension of unsigned bytes)");
  CHECK(error_of(gzip("")) == "is empty; expected an IDX file of images (3 dimensions of unsigned bytes)");
}

TEST_CASE("a file that is cut short anywhere") {
  const std::string raw = image_bytes(2);
  CHECK(error_of(raw.substr(0, 1)) == Contains("ends after 1 bytes, within its header"));
  CHECK(error_of(raw.substr(0, 3)) == Contains("ends after 3 bytes, within its header"));
  CHECK(error_of(raw.substr(0, 4)) == Contains("ends after 4 bytes, within its header of 16 bytes"));
  CHECK(error_of(raw.substr(0, 15)) == Contains("ends after 15 bytes, within its header of 16 bytes"));
  CHECK(error_of(raw.substr(0, 16)) ==
        "holds 0 bytes of values; expected 1568, as its header says (2x28x28)");
  CHECK(error_of(raw.substr(0, raw.size() - 1)) ==
        "holds 1567 bytes of values; expected 1568, as its header says (2x28x28)");
  CHECK(error_of(gzip(raw.substr(0, raw.size() - 1))) ==
        "holds 1567 bytes of values; expected 1568, as its header says (2x28x28)");
}

TEST_CASE("trailing bytes") {
  const std::string raw = image_bytes(2);
  CHECK(error_of(raw + "x") == "holds 1569 bytes of values; expected 1568, as its header says (2x28x28)");
  CHECK(error_of(gzip(raw + "x")) ==
        "holds more than 1568 bytes of values; expected 1568, as its header says (2x28x28)");
  CHECK(error_of(gzip(raw) + gzip("x")) == Contains("holds more than 1568"));
  CHECK(error_of(gzip(raw) + "\n\n") == Contains("2 bytes that are not gzip follow its gzip stream"));
}

TEST_CASE("a gzip file cut short at every byte is an error, and not a crash or a short file") {
  const TemporaryDirectory directory;
  const std::string packed = gzip(image_bytes(2));
  for (std::size_t size = 2; size < packed.size(); ++size) {
    const auto file = directory.write("x", packed.substr(0, size));
    const std::string message = dataset_error([&] { model::read_idx(file, 3); });
    CAPTURE(size);
    CHECK(message == Contains("its gzip stream ends too early (the file is truncated at " +
                              std::to_string(size) + " bytes)"));
  }
}

TEST_CASE("a damaged gzip file") {
  std::string packed = gzip(image_bytes(2));
  std::string wrong_sum = packed;
  wrong_sum[packed.size() - 8] = static_cast<char>(wrong_sum[packed.size() - 8] ^ 1);
  CHECK(error_of(wrong_sum) == "its gzip stream is damaged (incorrect data check); fetch it again");
  std::string wrong_length = packed;
  wrong_length[packed.size() - 4] = static_cast<char>(wrong_length[packed.size() - 4] ^ 1);
  CHECK(error_of(wrong_length) == "its gzip stream is damaged (incorrect length check); fetch it again");
  std::string wrong_method = packed;
  wrong_method[2] = 1;
  CHECK(error_of(wrong_method) == "its gzip stream is damaged (unknown compression method); fetch it again");
}

TEST_CASE("an HTML page and other downloads gone wrong") {
  const std::string expected =
      "looks like an HTML page, as a download gives that met an error or a login page; expected an IDX file "
      "of images "
      "(3 dimensions of unsigned bytes); fetch it again";
  CHECK(error_of("<!DOCTYPE html><html><body>404 Not Found</body></html>") == expected);
  CHECK(error_of("\r\n  <html>") == expected);
  CHECK(error_of("\xef\xbb\xbf<?xml version=\"1.0\"?>") == expected);
  CHECK(error_of("<") == expected);
  CHECK(error_of(gzip("<!doctype html>")) == expected);
  CHECK(error_of("version https://git-lfs.github.com/spec/v1\n") == Contains("is a Git LFS pointer"));
  CHECK(error_of("PK\x03\x04rest") == Contains("is a ZIP archive; unpack it"));
  CHECK(error_of("hello") ==
        "begins with the bytes 68 65 6c 6c; expected an IDX file of images (3 dimensions of unsigned bytes), "
        "which "
        "begins with 00 00 08 03");
}

TEST_CASE("a file of the other kind or of another type") {
  CHECK(error_of(label_bytes(5), 3) ==
        "holds labels (1 dimension); expected an IDX file of images (3 dimensions of unsigned bytes)");
  CHECK(error_of(image_bytes(1), 1) ==
        "holds images (3 dimensions); expected an IDX file of labels (1 dimension of unsigned bytes)");
  CHECK(error_of(idx_bytes(8, {1, 1, 1, 1}, "x"), 3) == Contains("has 4 dimensions; expected"));
  CHECK(error_of(idx_bytes(0x0d, {1, 1, 1}, "xxxx")) ==
        Contains("holds values of type 32-bit floats; expected"));
  CHECK(error_of(idx_bytes(0x42, {1, 1, 1}, "x")) == Contains("an unknown type 0x42; expected"));
}

TEST_CASE("absurd dimensions are rejected before memory is asked for") {
  const std::uint32_t most = 0xffffffff;
  CHECK(error_of(idx_bytes(8, {most, most, most}, "x")) ==
        "its header promises 4294967295x4294967295x4294967295 values; expected at most 8589934592 (the "
        "header is "
        "damaged)");
  // 2³² · 2³² is 0 in 64 bits.
  CHECK(error_of(idx_bytes(8, {1u << 31, 1u << 31, 4}, "")) == Contains("its header promises"));
  const long before = peak_memory_kib();
  CHECK(error_of(idx_bytes(8, {8'000'000, 28, 28}, "x")) ==
        "holds 1 bytes of values; expected 6272000000, as its header says (8000000x28x28)");
  CHECK(error_of(gzip(idx_bytes(8, {8'000'000, 28, 28}, "x"))) ==
        "holds fewer bytes of values; expected 6272000000, as its header says (8000000x28x28)");
  // 64 MiB of zeros behind a header of one image: no more than that image is inflated.
  CHECK(error_of(gzip(image_bytes(1) + std::string(64 << 20, '\0'))) ==
        Contains("holds more than 784 bytes"));
  CHECK(peak_memory_kib() - before < 400 * 1024);
}

TEST_CASE("both spellings are found, the plain one first") {
  const TemporaryDirectory directory;
  const std::vector<std::string> names{"train-images-idx3-ubyte", "train-images.idx3-ubyte",
                                       "train-images-idx3-ubyte.gz", "train-images.idx3-ubyte.gz"};
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    directory.write(*name, image_bytes(1));
    CHECK(model::find_idx(directory.path(), "train-images", 3) == directory.path() / *name);
  }
}

TEST_CASE("a directory with the name of a file does not hide the file") {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() / "t10k-labels-idx1-ubyte");
  CHECK(model::find_idx(directory.path(), "t10k-labels", 1) == directory.path() / "t10k-labels-idx1-ubyte");
  const auto file = directory.write("t10k-labels.idx1-ubyte", label_bytes(1));
  CHECK(model::find_idx(directory.path(), "t10k-labels", 1) == file);
}

TEST_CASE("what is not found is named") {
  const TemporaryDirectory directory;
  const auto find = [](const std::filesystem::path& where) {
    return dataset_error([&] { model::find_idx(where, "train-images", 3); });
  };
  const std::string path = directory.path().string();
  CHECK(find(directory.path()) ==
        path +
            ": holds no train-images-idx3-ubyte (looked for train-images-idx3-ubyte and "
            "train-images.idx3-ubyte, also with .gz); script/bootstrap fetches the MNIST "
            "files");
  CHECK(find(directory.path() / "none") ==
        path +
            "/none: no such directory; expected one with the four MNIST files, "
            "which script/bootstrap fetches");
  const auto file = directory.write("file", "x");
  CHECK(find(file) == file.string() + ": is not a directory; expected one with the four MNIST files");
}
