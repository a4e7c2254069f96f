// SQLite's C interface with owners: a database, its cached statements, a transaction. Knows nothing of jobs.
//
// Every failure is a StoreError that names the file, what SQLite says, the system's reason where there is one, and what
// to do. Not thread-safe: the store holds its mutex around every use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/errors.h"

struct sqlite3;
struct sqlite3_stmt;

namespace mnistd::server {

class SqliteDatabase {
 public:
  // Opens or creates the file for reading and writing.
  explicit SqliteDatabase(std::filesystem::path file);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;
  ~SqliteDatabase();

  void execute(const std::string& sql);          // one or more statements without results
  std::int64_t integer(const std::string& sql);  // the first column of the first row; 0 where there is none
  std::int64_t last_insert_rowid() const;
  int changes() const;  // rows changed by the last statement
  bool in_transaction() const;
  bool is_read_only() const;

  // From here on the file and its write-ahead log must stay where they are: require_in_place throws where the path leads to
  // another file or to none.
  void remember_place();
  void require_in_place() const;

  const std::filesystem::path& file() const { return file_; }
  [[noreturn]] void fail(const std::string& what) const;  // StoreError: file, `what`
  void check(int code) const;                             // throws where `code` is an error

 private:
  friend class Statement;
  sqlite3_stmt* prepared(std::string_view sql);

  struct Place {
    std::filesystem::path path;
    std::uint64_t device, inode;
  };

  std::filesystem::path file_;
  std::vector<Place> places_;
  sqlite3* handle_ = nullptr;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;  // prepared once, used again
};

// One use of a statement: bind, then step until false. Parameters and columns go in the order of the SQL.
class Statement {
 public:
  Statement(SqliteDatabase& database, std::string_view sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  template <class... Values>
  Statement& bind(const Values&... values) {
    (bind_next(values), ...);
    return *this;
  }
  bool step();  // false: no more rows
  void run();   // step() to the end

  // The next column of the row, which must hold that type; of an optional, NULL is nothing; a double reads NULL as NaN,
  // for that is how SQLite keeps one.
  template <class T>
  T get() {
    T value{};
    read_next(value);
    return value;
  }

 private:
  void bind_next(std::int64_t value);
  void bind_next(int value) { bind_next(std::int64_t{value}); }
  void bind_next(double value);
  void bind_next(std::string_view value);
  void bind_next(const std::string& value) { bind_next(std::string_view(value)); }
  void bind_next(const char* value) { bind_next(std::string_view(value)); }
  void bind_next(std::span<const std::byte> blob);
  template <class T>
  void bind_next(const std::optional<T>& value) {
    if (value) {
      bind_next(*value);
    } else {
      bind_null();
    }
  }
  void bind_null();

  void read_next(std::int64_t& value);
  void read_next(int& value);
  void read_next(double& value);
  void read_next(std::string& value);
  void read_next(std::vector<std::byte>& blob);
  template <class T>
  void read_next(std::optional<T>& value) {
    if (is_null()) {
      ++column_;
    } else {
      read_next(value.emplace());
    }
  }
  bool is_null() const;

  SqliteDatabase& database_;
  sqlite3_stmt* statement_;
  int parameter_ = 0;
  int column_ = 0;
};

// Takes the write lock at once, so that two connections wait for one another instead of failing half-way. Refuses a file
// that is not in its place. Rolls back unless committed.
class Transaction {
 public:
  explicit Transaction(SqliteDatabase& database);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  SqliteDatabase& database_;
};

}  // namespace mnistd::server
