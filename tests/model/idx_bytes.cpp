#include "tests/model/idx_bytes.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <zlib.h>

namespace mnistd::test {

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "mnistd-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TemporaryDirectory::write(const std::string& name, const std::string& bytes) const {
  const auto file = path_ / name;
  std::ofstream out(file, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file.string());
  return file;
}

std::string idx_bytes(std::uint8_t type, const std::vector<std::uint32_t>& dimensions,
                      const std::string& values) {
  std::string bytes{'\0', '\0', static_cast<char>(type), static_cast<char>(dimensions.size())};
  for (const std::uint32_t dimension : dimensions)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(dimension >> shift & 255);
  return bytes + values;
}

std::string image_bytes(std::uint32_t count, std::uint32_t rows, std::uint32_t columns) {
  std::string values(std::size_t{count} * rows * columns, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<char>(i % 251);
  return idx_bytes(8, {count, rows, columns}, values);
}

std::string label_bytes(std::uint32_t count) {
  std::string values(count, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<char>(i % 10);
  return idx_bytes(8, {count}, values);
}

std::string gzip(const std::string& bytes, int level) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int outcome = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (outcome != Z_STREAM_END) throw std::runtime_error("deflate");
  return packed;
}

}  // namespace mnistd::test
