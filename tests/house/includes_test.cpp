// Arrows point down: api → server → model → gpu. Reads every #include and names those that point up, and libraries in
// rooms that they must not enter (README.md, "The house").
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

// What a room may include, besides itself. The program (main.cpp and commands/) stands above all.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"gpu", {}},
    {"model", {"gpu"}},
    {"server", {"model", "gpu"}},
    {"web", {}},
    {"api", {"server", "model", "gpu", "web"}},
    {"program", {"api", "server", "model", "gpu", "program"}},
};

std::string room_of(const std::string& path) {
  if (path == "server/main.cpp" || path.starts_with("server/commands/")) return "program";
  return path.substr(0, path.find('/'));
}

bool may_use_library(const std::string& path, const std::string& header) {
  if (header.starts_with("httplib")) return room_of(path) == "api";
  if (header.starts_with("nlohmann/"))
    return room_of(path) == "api" || path.starts_with("model/weights_file") || path.starts_with("gpu/bench/");
  if (header.starts_with("sqlite3")) return room_of(path) == "server";
  return true;
}

std::vector<std::string> wrong_includes(const fs::path& root) {
  static const std::regex include(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  std::vector<std::string> wrong;
  for (const auto& [room, allowed] : kMayInclude) {
    if (!fs::exists(root / room)) continue;
    for (auto entry = fs::recursive_directory_iterator(root / room);
         entry != fs::recursive_directory_iterator(); ++entry) {
      if (entry->path().filename() == "node_modules") {
        entry.disable_recursion_pending();
        continue;
      }
      static const std::set<std::string> kinds = {".h", ".cpp", ".hip", ".inc"};
      if (!kinds.contains(entry->path().extension().string())) continue;
      const std::string path = fs::relative(entry->path(), root).string();
      std::ifstream in(entry->path());
      for (std::string line; std::getline(in, line);) {
        std::smatch match;
        if (!std::regex_search(line, match, include)) continue;
        const std::string target = match[2];
        const std::string from = room_of(path), to = room_of(target);
        const bool arrow = match[1] == "\"" && from != to && !kMayInclude.at(from).contains(to);
        if (arrow || !may_use_library(path, target)) wrong.push_back(path + " includes " + target);
      }
    }
  }
  std::sort(wrong.begin(), wrong.end());
  return wrong;
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("includes point down only") {
  for (const std::string& line : wrong_includes(MNISTD_SOURCE_DIR)) FAIL_CHECK(line);
}

TEST_CASE("every room is read") {
  for (const auto& [room, allowed] : kMayInclude) {
    if (room != "program") CHECK_MESSAGE(fs::exists(fs::path(MNISTD_SOURCE_DIR) / room), room);
  }
}

TEST_CASE("an arrow that points up is found") {
  const fs::path root = fs::temp_directory_path() / ("mnistd-house-" + std::to_string(getpid()));
  write(root / "gpu/a.h", "#include \"model/dataset.h\"\n");
  write(root / "model/b.cpp", "#include \"gpu/device.h\"\n  #  include <nlohmann/json.hpp>\n");
  write(root / "model/weights_file.cpp", "#include <nlohmann/json.hpp>\n");
  write(root / "server/c.cpp", "#include \"api/http_server.h\"\n#include \"server/commands/commands.h\"\n");
  write(root / "server/main.cpp", "#include \"api/http_server.h\"\n");
  write(root / "server/d.cpp", "#include <httplib.h>\n");
  write(root / "api/e.cpp",
        "#include <httplib.h>\n#include \"web/assets.h\"\n#include \"server/daemon.h\"\n");
  const std::vector<std::string> expected = {
      "gpu/a.h includes model/dataset.h", "model/b.cpp includes nlohmann/json.hpp",
      "server/c.cpp includes api/http_server.h", "server/c.cpp includes server/commands/commands.h",
      "server/d.cpp includes httplib.h"};
  CHECK(wrong_includes(root) == expected);
  fs::remove_all(root);
}
