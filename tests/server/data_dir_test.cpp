#include "server/data_dir.h"

#include <fstream>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/server/support.h"

using namespace mnistd::server;

TEST_CASE("a data dir is made with what leads to it, and names its files") {
  TemporaryDirectory directory;
  const auto path = directory.path() / "a" / "b";
  DataDir data(path);
  CHECK(std::filesystem::is_directory(path / "models"));
  CHECK(data.database() == path / "mnistd.sqlite3");
  CHECK(data.weights("x") == path / "models" / "x.safetensors");
  CHECK(read_file(path / "lock") == std::to_string(getpid()) + "\n");
}

TEST_CASE("a second daemon is refused with the holder's process id, and let in when it has gone") {
  TemporaryDirectory directory;
  const auto path = directory.path() / "data";
  {
    DataDir data(path);
    const std::string message = message_of<StartError>([&] { DataDir second(path); });
    CHECK(message == "data dir " + path.string() + " is in use by process " + std::to_string(getpid()) +
                         "; stop it or give another --data-dir");
  }
  DataDir again(path);
}

TEST_CASE("a lock or a folder that is taken away is told, and is right again when it is back") {
  TemporaryDirectory directory;
  const auto path = directory.path() / "data";
  DataDir data(path);
  data.check();
  std::filesystem::rename(path / "lock", path / "elsewhere");
  CHECK(message_of<StoreError>([&] {
          data.check();
        }).starts_with("file " + (path / "lock").string() + " was removed"));
  std::ofstream(path / "lock") << "another file of that name";
  CHECK(message_of<StoreError>([&] {
          data.check();
        }).starts_with("file " + (path / "lock").string() + " was removed"));
  std::filesystem::rename(path / "elsewhere", path / "lock");
  data.check();
  std::filesystem::remove_all(path / "models");
  CHECK(message_of<StoreError>([&] { data.check(); }).starts_with("directory " + (path / "models").string()));
  std::filesystem::create_directory(path / "models");
  data.check();
}

TEST_CASE("the lock goes with a process that is killed") {
  TemporaryDirectory directory;
  const auto path = directory.path() / "data";
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    DataDir data(path);
    (void)!write(ready[1], "x", 1);
    pause();
    _exit(0);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  const std::string message = message_of<StartError>([&] { DataDir second(path); });
  CHECK(contains(message, "in use by process " + std::to_string(child) + ";"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  DataDir again(path);
}

TEST_CASE("a file in the place of the data dir, or on the way to it, is told as such") {
  TemporaryDirectory directory;
  const auto file = directory.path() / "file";
  std::ofstream(file) << "text";
  CHECK(message_of<StartError>([&] { DataDir data(file); }) ==
        "data dir " + file.string() + " is a file, not a directory; give another --data-dir");
  const std::string below = message_of<StartError>([&] { DataDir data(file / "below"); });
  CHECK(contains(below, "cannot be created: Not a directory"));
}

TEST_CASE("a data dir that can't be written is told with the system's reason") {
  TemporaryDirectory directory;
  const auto path = directory.path() / "data";
  SUBCASE("no room") {
    FullDisk full;
    const std::string message = message_of<StartError>([&] { DataDir data(path); });
    CHECK(contains(message,
                   "is not writable: File too large; let this user write it or give another --data-dir"));
  }
  SUBCASE("no permission") {  // which root always has, so another user's child tries
    std::filesystem::create_directories(path);
    std::filesystem::permissions(directory.path(), std::filesystem::perms(0755));
    std::filesystem::permissions(path, std::filesystem::perms(0555));
    int answer[2];
    REQUIRE(pipe(answer) == 0);
    const pid_t child = fork();
    if (child == 0) {
      if (getuid() == 0 && setuid(65534) != 0) _exit(1);
      const std::string message = message_of<StartError>([&] { DataDir data(path); });
      (void)!write(answer[1], message.data(), message.size());
      _exit(0);
    }
    close(answer[1]);
    char text[512] = {};
    CHECK(read(answer[0], text, sizeof text - 1) > 0);
    waitpid(child, nullptr, 0);
    close(answer[0]);
    CHECK(contains(text, "is not writable: Permission denied"));
  }
}

TEST_CASE("a file is written whole or not at all") {
  TemporaryDirectory directory;
  const auto file = directory.path() / "weights";
  const std::string first(100'000, 'a');
  write_file_atomically(file, first);
  CHECK(read_file(file) == first);
  write_file_atomically(file, "second");
  CHECK(read_file(file) == "second");
  {
    FullDisk full;
    const std::string message = message_of<StoreError>([&] { write_file_atomically(file, first); });
    CHECK(message == "cannot write " + file.string() + ": File too large");
  }
  CHECK(read_file(file) == "second");
  const std::string nowhere = message_of<StoreError>([&] { write_file_atomically(file / "x", "y"); });
  CHECK(contains(nowhere, "Not a directory"));
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory.path())) ++files;
  CHECK(files == 1);  // no temporary name is left
}
