#include "model/idx_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "model/byte_source.h"

namespace mnistd::model {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::size_t kMagicBytes = 4;
constexpr std::size_t kChunk = 256 * 1024;
// 8 GiB of values: ten million digits. A header that promises more is damaged.
constexpr std::uint64_t kMaximumValues = std::uint64_t{1} << 33;

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw DatasetError(file.string() + ": " + what);
}

std::string kind_of(int dimensions) {
  if (dimensions == 3) return "an IDX file of images (3 dimensions of unsigned bytes)";
  if (dimensions == 1) return "an IDX file of labels (1 dimension of unsigned bytes)";
  return "an IDX file of " + std::to_string(dimensions) + " dimensions of unsigned bytes";
}

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    if (!text.empty()) text += ' ';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string type_name(std::uint8_t type) {
  switch (type) {
    case 0x09:
      return "signed bytes";
    case 0x0b:
      return "16-bit integers";
    case 0x0c:
      return "32-bit integers";
    case 0x0d:
      return "32-bit floats";
    case 0x0e:
      return "64-bit floats";
    default:
      return "an unknown type 0x" + hexadecimal({&type, 1});
  }
}

// What a file that is no IDX file looks like, from its beginning; the usual ways in which a download goes wrong.
std::optional<std::string> known_mistake(std::string_view beginning) {
  if (beginning.starts_with("\xef\xbb\xbf")) beginning.remove_prefix(3);
  const std::size_t text = beginning.find_first_not_of(" \t\r\n");
  if (text != std::string_view::npos && beginning[text] == '<')
    return "looks like an HTML page, as a download gives that met an error or a login page";
  if (beginning.starts_with("version https://git-lfs")) return "is a Git LFS pointer and not the file itself";
  if (beginning.starts_with("PK\x03\x04")) return "is a ZIP archive; unpack it";
  return std::nullopt;
}

[[noreturn]] void fail_on_magic(const std::filesystem::path& file, std::span<const std::uint8_t> magic,
                                int dimensions, ByteSource& source) {
  std::string beginning(magic.begin(), magic.end());
  std::array<std::uint8_t, 508> more{};
  beginning.append(reinterpret_cast<const char*>(more.data()), source.read(more));
  if (const auto mistake = known_mistake(beginning))
    fail(file, *mistake + "; expected " + kind_of(dimensions) + "; fetch it again");
  fail(file, "begins with the bytes " + hexadecimal(magic) + "; expected " + kind_of(dimensions) +
                 ", which begins with 00 00 08 0" + std::to_string(dimensions));
}

std::string product_text(const std::vector<std::uint32_t>& dimensions) {
  std::string text;
  for (const std::uint32_t dimension : dimensions) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dimension);
  }
  return text;
}

std::uint64_t number_of_values(const std::filesystem::path& file,
                               const std::vector<std::uint32_t>& dimensions) {
  std::uint64_t product = 1;
  // No product overflows: a factor is below 2³² and the product so far at most 2³³, unless it is rejected.
  bool absurd = false;
  for (const std::uint32_t dimension : dimensions) {
    if (dimension == 0) return 0;
    if (!absurd) product *= dimension;
    absurd = absurd || product > kMaximumValues;
  }
  if (absurd)
    fail(file, "its header promises " + product_text(dimensions) + " values; expected at most " +
                   std::to_string(kMaximumValues) + " (the header is damaged)");
  return product;
}

[[noreturn]] void fail_on_length(const std::filesystem::path& file, const IdxFile& idx,
                                 std::uint64_t promised, const std::string& found) {
  fail(file, "holds " + found + " bytes of values; expected " + std::to_string(promised) +
                 ", as its header says (" + product_text(idx.dimensions) + ")");
}

// Appends up to `count` values, by way of a chunk that stays in cache: to resize the vector first would write every byte
// of it twice.
void read_values(ByteSource& source, std::uint64_t count, std::vector<std::uint8_t>& values) {
  values.reserve(count);
  std::vector<std::uint8_t> chunk(std::min<std::uint64_t>(count, kChunk));
  while (values.size() < count) {
    const auto wanted = std::span(chunk).first(std::min<std::uint64_t>(kChunk, count - values.size()));
    const std::size_t found = source.read(wanted);
    values.insert(values.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(found));
    if (found < wanted.size()) return;
  }
}

}  // namespace

IdxFile read_idx(const std::filesystem::path& file, int dimensions) {
  const auto source = open_byte_source(file);

  std::array<std::uint8_t, kMagicBytes> magic{};
  const std::size_t found = source->read(magic);
  if (found == 0) fail(file, "is empty; expected " + kind_of(dimensions));
  if (magic[0] != 0 || (found > 1 && magic[1] != 0))
    fail_on_magic(file, std::span(magic).first(found), dimensions, *source);
  if (found < kMagicBytes)
    fail(file, "ends after " + std::to_string(found) + " bytes, within its header; expected " +
                   kind_of(dimensions));
  if (magic[2] != kUnsignedByte)
    fail(file, "holds values of type " + type_name(magic[2]) + "; expected " + kind_of(dimensions));
  if (magic[3] != dimensions) {
    const std::string hint = magic[3] == 1   ? "holds labels (1 dimension)"
                             : magic[3] == 3 ? "holds images (3 dimensions)"
                                             : "has " + std::to_string(magic[3]) + " dimensions";
    fail(file, hint + "; expected " + kind_of(dimensions));
  }

  IdxFile idx;
  std::vector<std::uint8_t> header(static_cast<std::size_t>(dimensions) * 4);
  const std::size_t header_found = source->read(header);
  if (header_found < header.size())
    fail(file, "ends after " + std::to_string(kMagicBytes + header_found) + " bytes, within its header of " +
                   std::to_string(kMagicBytes + header.size()) + " bytes; expected " + kind_of(dimensions));
  for (std::size_t i = 0; i < header.size(); i += 4)
    idx.dimensions.push_back(std::uint32_t{header[i]} << 24 | std::uint32_t{header[i + 1]} << 16 |
                             std::uint32_t{header[i + 2]} << 8 | header[i + 3]);

  // Nothing is allocated for values that the file cannot hold.
  const std::uint64_t promised = number_of_values(file, idx.dimensions);
  if (source->is_raw() && source->at_most_left() != promised)
    fail_on_length(file, idx, promised, std::to_string(source->at_most_left()));
  if (source->at_most_left() < promised) fail_on_length(file, idx, promised, "fewer");

  read_values(*source, promised, idx.values);
  if (idx.values.size() < promised) fail_on_length(file, idx, promised, std::to_string(idx.values.size()));
  std::uint8_t beyond = 0;
  if (source->read({&beyond, 1}) != 0)
    fail_on_length(file, idx, promised, "more than " + std::to_string(promised));
  return idx;
}

std::filesystem::path find_idx(const std::filesystem::path& directory, const std::string& stem,
                               int dimensions) {
  std::error_code error;
  const auto status = std::filesystem::status(directory, error);
  if (status.type() == std::filesystem::file_type::not_found)
    fail(directory,
         "no such directory; expected one with the four MNIST files, which script/bootstrap fetches");
  if (error) fail(directory, "cannot be read: " + error.message());
  if (!std::filesystem::is_directory(status))
    fail(directory, "is not a directory; expected one with the four MNIST files");

  const std::string suffix = "idx" + std::to_string(dimensions) + "-ubyte";
  const std::array<std::string, 4> names{stem + "-" + suffix, stem + "." + suffix,
                                         stem + "-" + suffix + ".gz", stem + "." + suffix + ".gz"};
  // A directory may bear one of the names (some archives unpack so) and the file another one.
  std::optional<std::filesystem::path> no_file;
  for (const std::string& name : names) {
    const auto entry = std::filesystem::status(directory / name, error);
    if (std::filesystem::is_regular_file(entry)) return directory / name;
    if (entry.type() == std::filesystem::file_type::not_found) continue;
    if (error) fail(directory / name, "cannot be read: " + error.message());
    if (!no_file) no_file = directory / name;
  }
  if (no_file) return *no_file;
  fail(directory, "holds no " + names[0] + " (looked for " + names[0] + " and " + names[1] +
                      ", also with .gz); script/bootstrap fetches the MNIST files");
}

}  // namespace mnistd::model
