// The store's file: what is accepted as one, and what happens when it can't be written.
#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/job_store.h"
#include "server/sqlite.h"
#include "tests/server/support.h"

using namespace mnistd::server;
using namespace std::chrono_literals;

namespace {

std::string open_error(const std::filesystem::path& file) {
  return message_of<StoreError>([&] { JobStore store(file); });
}

}  // namespace

TEST_CASE("a new file gets the schema, a version, our application id, and a write-ahead log") {
  TemporaryDirectory directory;
  const auto file = directory.path() / "mnistd.sqlite3";
  JobStore store(file);
  SqliteDatabase database(file);
  CHECK(database.integer("PRAGMA user_version") == 2);
  CHECK(database.integer("PRAGMA application_id") == 0x4d4e5344);
  Statement journal(database, "PRAGMA journal_mode");
  REQUIRE(journal.step());
  CHECK(journal.get<std::string>() == "wal");
  CHECK(
      database.integer("SELECT count(*) FROM sqlite_schema WHERE name IN ('jobs', 'metrics', 'checkpoints', "
                       "'models', 'settings')") == 5);
}

TEST_CASE(
    "an empty file is filled; a file of a later program, of another one, or no database is refused by name") {
  TemporaryDirectory directory;
  const auto file = directory.path() / "mnistd.sqlite3";
  SUBCASE("empty") {
    std::ofstream{file};
    CHECK(open_error(file).empty());
    CHECK(open_error(file).empty());  // and opened again
  }
  SUBCASE("newer") {
    CHECK(open_error(file).empty());
    SqliteDatabase(file).execute("PRAGMA user_version = 99");
    CHECK(open_error(file) ==
          "database " + file.string() +
              ": was written by a newer mnistd (schema 99, this program knows up to 2); run that "
              "version or give another --data-dir");
  }
  SUBCASE("another program's") {
    SqliteDatabase(file).execute("CREATE TABLE recipes (name TEXT)");
    CHECK(contains(open_error(file), file.string() + ": is a database of another program"));
    SqliteDatabase database(file);
    CHECK(database.integer("SELECT count(*) FROM sqlite_schema") == 1);  // nothing was written to it
  }
  SUBCASE("no database") {
    std::ofstream(file) << std::string(5000, 'x');
    CHECK(contains(open_error(file),
                   "database " + file.string() + ": file is not a database; move the file away"));
    CHECK(read_file(file) == std::string(5000, 'x'));
  }
  SUBCASE("a directory") {
    std::filesystem::create_directory(file);
    CHECK(contains(open_error(file), "database " + file.string() + ": unable to open database file"));
  }
  SUBCASE("nowhere") {
    CHECK(contains(open_error(directory.path() / "no" / "file"), "unable to open database file"));
  }
}

TEST_CASE("a read-only file is refused") {
  TemporaryDirectory directory;
  const auto file = directory.path() / "mnistd.sqlite3";
  CHECK(open_error(file).empty());
  std::filesystem::permissions(file, std::filesystem::perms(0444));
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0555));
  int answer[2];
  REQUIRE(pipe(answer) == 0);
  const pid_t child = fork();  // as another user, for root can write everything
  if (child == 0) {
    if (getuid() == 0 && setuid(65534) != 0) _exit(1);
    const std::string message = open_error(file);
    (void)!write(answer[1], message.data(), message.size());
    _exit(0);
  }
  close(answer[1]);
  char text[512] = {};
  CHECK(read(answer[0], text, sizeof text - 1) > 0);
  waitpid(child, nullptr, 0);
  close(answer[0]);
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0755));
  CHECK_MESSAGE(contains(text, "database " + file.string() + ": "), text);
  CHECK_MESSAGE(contains(text, "; let this user write the file and its directory"), text);
}

TEST_CASE("a full disk fails the call, changes nothing, and is forgotten when there is room") {
  TemporaryDirectory directory;
  JobStore store(directory.path() / "mnistd.sqlite3");
  const Job job = queued_job();
  store.insert(job, std::nullopt);
  {
    FullDisk full;
    const std::string message = message_of<StoreError>([&] { store.insert(queued_job(), std::nullopt); });
    CHECK_MESSAGE(contains(message, "mnistd.sqlite3: disk I/O error while writing"), message);
    CHECK_MESSAGE(contains(message, "; look at the disk, its free space and its quota"), message);
    CHECK_THROWS_AS(store.append(job.id, std::vector{row_of(1)}, progress_at(1)), StoreError);
    CHECK_THROWS_AS(store.check(), StoreError);
    CHECK(store.find(job.id));  // reading goes on
  }
  CHECK_NOTHROW(store.check());
  CHECK(store.list(std::nullopt, 10, std::nullopt).items.size() == 1);
  CHECK(store.rows(job.id, 0, 10).empty());
  store.append(job.id, std::vector{row_of(1)}, progress_at(1));
  CHECK(store.rows(job.id, 0, 10).size() == 1);
}

TEST_CASE("a file that is not in its place any more takes nothing and says so; put back, it goes on") {
  TemporaryDirectory directory;
  const auto data = directory.path() / "data", file = data / "mnistd.sqlite3";
  std::filesystem::create_directory(data);
  JobStore store(file);
  const std::string id = store.insert(queued_job(), std::nullopt).job.id;
  const auto away = directory.path() / "away";
  std::filesystem::path lost = file;
  std::string what = "was removed";
  SUBCASE("the file") { std::filesystem::rename(lost, away); }
  SUBCASE("its directory") {
    lost = data;
    std::filesystem::rename(lost, away);
  }
  SUBCASE("the write-ahead log, which holds what was stored last") {
    lost = data / "mnistd.sqlite3-wal";
    std::filesystem::rename(lost, away);
    what = "its mnistd.sqlite3-wal was removed";
  }
  SUBCASE("another file of the same name and content") {
    std::filesystem::rename(lost, away);
    std::filesystem::copy_file(away, file);
    what = "was replaced";
  }
  const std::string message = message_of<StoreError>([&] { store.insert(queued_job(), std::nullopt); });
  CHECK(message ==
        "database " + file.string() + ": " + what +
            " while the daemon runs; what was stored here would be lost; put the same file back, or "
            "restart the daemon to begin with what is there now");
  CHECK(message_of<StoreError>([&] { store.check(); }) == message);
  CHECK_THROWS_AS(store.rename(id, "name"), StoreError);
  CHECK_THROWS_AS(store.set_running(id, now(), "device"), StoreError);
  CHECK_THROWS_AS(store.set_queued(id), StoreError);
  CHECK_THROWS_AS(store.request_cancel(id, now()), StoreError);
  CHECK_THROWS_AS(store.requeue_running(), StoreError);
  CHECK_THROWS_AS(store.append(id, std::vector{row_of(1)}, progress_at(1)), StoreError);
  CHECK_THROWS_AS(store.save_checkpoint(id, {1, 1, {1.0F}}), StoreError);
  CHECK_THROWS_AS(store.finish(*store.find(id), std::nullopt), StoreError);
  CHECK_THROWS_AS(store.choose_model(id), StoreError);
  CHECK_THROWS_AS(store.erase(id), StoreError);

  std::filesystem::remove_all(lost);
  std::filesystem::rename(away, lost);
  CHECK_NOTHROW(store.check());
  store.rename(id, "name");
  JobStore again(file);
  CHECK(again.list(std::nullopt, 10, std::nullopt).items.size() == 1);
  CHECK(again.find(id)->name == "name");
}

TEST_CASE("checks that follow one another write once a second") {
  TemporaryDirectory directory;
  const auto file = directory.path() / "mnistd.sqlite3";
  JobStore store(file);
  SqliteDatabase database(file);
  const auto written = [&] {
    return database.integer("SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'readiness'");
  };
  store.check();
  const auto first = written();
  CHECK(first > 0);
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < 300ms) store.check();
  CHECK(written() == first);
  std::this_thread::sleep_for(1s);
  store.check();
  CHECK(written() > first);
}

TEST_CASE("SQLite's own reasons are told with what to do") {
  TemporaryDirectory directory;
  SqliteDatabase database(directory.path() / "file");
  database.execute("CREATE TABLE t (x BLOB)");
  database.execute("PRAGMA max_page_count = 4");
  std::string message;
  {
    Transaction transaction(database);
    message = message_of<StoreError>([&] { database.execute("INSERT INTO t VALUES (zeroblob(100000))"); });
  }
  CHECK(message ==
        "database " + (directory.path() / "file").string() + ": database or disk is full; free some space");
  CHECK_FALSE(database.in_transaction());
  database.execute("PRAGMA query_only = 1");
  CHECK(contains(message_of<StoreError>([&] { database.execute("INSERT INTO t VALUES (1)"); }),
                 "attempt to write a readonly database; let this user write"));
  CHECK(contains(message_of<StoreError>([&] { database.execute("NONSENSE"); }), "syntax error"));
}

TEST_CASE("another program that holds the write lock is waited for") {
  TemporaryDirectory directory;
  const auto file = directory.path() / "mnistd.sqlite3";
  JobStore store(file);
  SqliteDatabase other(file);
  other.execute("BEGIN IMMEDIATE");
  std::thread releasing([&] {
    std::this_thread::sleep_for(100ms);
    other.execute("COMMIT");
  });
  const auto begin = std::chrono::steady_clock::now();
  store.insert(queued_job(), std::nullopt);
  CHECK(std::chrono::steady_clock::now() - begin >= 90ms);
  releasing.join();
  CHECK(other.integer("SELECT count(*) FROM jobs") == 1);  // and sees what was stored
}

TEST_CASE("a damaged checkpoint is as good as none") {
  TemporaryDirectory directory;
  const auto file = directory.path() / "mnistd.sqlite3";
  JobStore store(file);
  const std::string id = store.insert(queued_job(), std::nullopt).job.id;
  store.save_checkpoint(id, {1, 1, {1.0F}});
  CHECK(store.checkpoint(id));
  SqliteDatabase(file).execute("UPDATE checkpoints SET weights = x'010203'");
  CHECK_FALSE(store.checkpoint(id));
}

TEST_CASE("what a call stored is there after kill -9") {
  TemporaryDirectory directory;
  const auto file = directory.path() / "mnistd.sqlite3";
  const Job job = queued_job();
  const pid_t child = fork();
  if (child == 0) {
    JobStore store(file);
    store.insert(job, std::nullopt);
    store.append(job.id, std::vector{row_of(1)}, progress_at(1));
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  JobStore store(file);
  CHECK(store.find(job.id));
  CHECK(store.rows(job.id, 0, 10).size() == 1);
}
