// What is wrong with the files of AMD's driver, in a directory that stands for /dev.
#include "gpu/platform/device_files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mnistd::gpu::platform {
namespace {

namespace fs = std::filesystem;

class Devices {
 public:
  Devices() : root_(fs::temp_directory_path() / ("mnistd-dev-" + std::to_string(getpid()))) {
    fs::create_directories(root_);
    fs::permissions(root_, fs::perms::all);
  }
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
  ~Devices() { fs::remove_all(root_); }

  void add(const char* file, fs::perms permissions) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << "";
    fs::permissions(root_ / file, permissions);
  }
  const fs::path& path() const { return root_; }

 private:
  fs::path root_;
};

// As any user but root sees it, whom no permission stops.
std::string obstacle_for_others(const fs::path& devices) {
  if (geteuid() != 0) return obstacle_in(devices);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    constexpr int kNobody = 65534;
    const bool dropped = setgid(kNobody) == 0 && setuid(kNobody) == 0;
    const std::string text = dropped ? obstacle_in(devices) : "cannot become nobody";
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t bytes = read(ends[0], text.data(), text.size());
  close(ends[0]);
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  REQUIRE(bytes >= 0);
  text.resize(static_cast<std::size_t>(bytes));
  return text;
}

constexpr fs::perms kForAll = fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read |
                              fs::perms::group_write | fs::perms::others_read | fs::perms::others_write;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("no driver, or a container without its files") {
  Devices devices;
  const std::string no_driver = obstacle_in(devices.path());
  CHECK(contains(no_driver, "kfd"));
  CHECK(contains(no_driver, "--device=/dev/kfd"));
  CHECK_FALSE(contains(no_driver, "\n"));
  devices.add("kfd", kForAll);
  devices.add("dri/card0", kForAll);
  CHECK(contains(obstacle_in(devices.path()), "renderD"));
}

TEST_CASE("no permission names the groups to join") {
  Devices devices;
  devices.add("kfd", fs::perms::owner_read);
  devices.add("dri/renderD128", kForAll);
  const std::string closed = obstacle_for_others(devices.path());
  if (geteuid() == 0) {
    CHECK(contains(closed, "no permission on " + (devices.path() / "kfd").string()));
    CHECK(contains(closed, "render and video"));
  }
  devices.add("kfd", kForAll);
  devices.add("dri/renderD128", fs::perms::none);
  devices.add("dri/renderD129", fs::perms::none);
  const std::string nodes_closed = obstacle_for_others(devices.path());
  CHECK(contains(nodes_closed, "no permission on " + (devices.path() / "dri/renderD128").string()));
  CHECK(contains(nodes_closed, "render and video"));
  // One of two cards is enough.
  devices.add("dri/renderD129", kForAll);
  CHECK(obstacle_for_others(devices.path()).empty());
}

}  // namespace mnistd::gpu::platform
