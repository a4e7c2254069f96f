#include "server/sqlite.h"

#include <cstring>
#include <limits>

#include <spdlog/spdlog.h>
#include <sqlite3.h>
#include <sys/stat.h>

namespace mnistd::server {

namespace {

constexpr int kBusyTimeoutMs = 5000;

std::string_view remedy(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "; free some space";
    case SQLITE_IOERR:
      return "; look at the disk, its free space and its quota";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "; let this user write the file and its directory";
    case SQLITE_NOTADB:
      return "; move the file away or give another --data-dir";
    case SQLITE_CORRUPT:
      return "; restore it from a backup or move it away";
    case SQLITE_BUSY:
      return "; another program holds it locked";
    default:
      return "";
  }
}

// SQLite says "disk I/O error" for all of them.
std::string_view io_detail(int extended_code) {
  switch (extended_code) {
    case SQLITE_IOERR_READ:
    case SQLITE_IOERR_SHORT_READ:
      return " while reading";
    case SQLITE_IOERR_WRITE:
      return " while writing";
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_DIR_FSYNC:
      return " while syncing";
    case SQLITE_IOERR_TRUNCATE:
      return " while truncating";
    case SQLITE_IOERR_LOCK:
    case SQLITE_IOERR_UNLOCK:
      return " while locking";
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMMAP:
      return " at the write-ahead log's index";
    default:
      return "";
  }
}

}  // namespace

SqliteDatabase::SqliteDatabase(std::filesystem::path file) : file_(std::move(file)) {
  const int code = sqlite3_open_v2(file_.c_str(), &handle_,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  try {
    if (handle_ == nullptr) fail("out of memory");
    sqlite3_extended_result_codes(handle_, 1);
    check(code);
    sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

SqliteDatabase::~SqliteDatabase() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  if (sqlite3_close(handle_) != SQLITE_OK) spdlog::error("database {}: closed while in use", file_.string());
}

// By stat and never by a descriptor of our own: to close one would drop the locks that SQLite has on the file.
void SqliteDatabase::remember_place() {
  places_.clear();
  for (const std::filesystem::path& path : {file_, std::filesystem::path(file_.string() + "-wal")}) {
    struct stat found {};
    if (stat(path.c_str(), &found) == 0) places_.push_back({path, found.st_dev, found.st_ino});
  }
}

void SqliteDatabase::require_in_place() const {
  for (const Place& place : places_) {
    struct stat found {};
    const bool there = stat(place.path.c_str(), &found) == 0;
    if (there && found.st_dev == place.device && found.st_ino == place.inode) continue;
    fail((place.path == file_ ? "" : "its " + place.path.filename().string() + " ") +
         std::string(there ? "was replaced" : "was removed") +
         " while the daemon runs; what was stored here would be lost; put the same file back, or restart the "
         "daemon to begin with what is there now");
  }
}

void SqliteDatabase::fail(const std::string& what) const {
  throw StoreError("database " + file_.string() + ": " + what);
}

void SqliteDatabase::check(int code) const {
  const int primary = code & 0xff;
  if (primary == SQLITE_OK || primary == SQLITE_ROW || primary == SQLITE_DONE) return;
  std::string what = sqlite3_errmsg(handle_);
  what += io_detail(code);
  const int reason = sqlite3_system_errno(handle_);
  if (reason != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL)) {
    what += std::string(" (") + std::strerror(reason) + ")";
  }
  fail(what.append(remedy(code)));
}

sqlite3_stmt* SqliteDatabase::prepared(std::string_view sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return found->second;
  sqlite3_stmt* statement = nullptr;
  check(sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                           &statement, nullptr));
  statements_.emplace(sql, statement);
  return statement;
}

void SqliteDatabase::execute(const std::string& sql) {
  check(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr));
}

std::int64_t SqliteDatabase::integer(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.get<std::int64_t>() : 0;
}

std::int64_t SqliteDatabase::last_insert_rowid() const { return sqlite3_last_insert_rowid(handle_); }
int SqliteDatabase::changes() const { return sqlite3_changes(handle_); }
bool SqliteDatabase::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }
bool SqliteDatabase::is_read_only() const { return sqlite3_db_readonly(handle_, "main") == 1; }

Statement::Statement(SqliteDatabase& database, std::string_view sql)
    : database_(database), statement_(database.prepared(sql)) {}

Statement::~Statement() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

bool Statement::step() {
  column_ = 0;
  const int code = sqlite3_step(statement_);
  database_.check(code);
  return code == SQLITE_ROW;
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::bind_next(std::int64_t value) {
  database_.check(sqlite3_bind_int64(statement_, ++parameter_, value));
}

void Statement::bind_next(double value) {
  database_.check(sqlite3_bind_double(statement_, ++parameter_, value));
}

void Statement::bind_next(std::string_view value) {
  database_.check(sqlite3_bind_text64(statement_, ++parameter_, value.data(), value.size(), SQLITE_TRANSIENT,
                                      SQLITE_UTF8));
}

void Statement::bind_next(std::span<const std::byte> blob) {
  database_.check(sqlite3_bind_blob64(statement_, ++parameter_, blob.data(), blob.size(), SQLITE_TRANSIENT));
}

void Statement::bind_null() { database_.check(sqlite3_bind_null(statement_, ++parameter_)); }

bool Statement::is_null() const { return sqlite3_column_type(statement_, column_) == SQLITE_NULL; }

void Statement::read_next(std::int64_t& value) { value = sqlite3_column_int64(statement_, column_++); }

void Statement::read_next(int& value) { value = sqlite3_column_int(statement_, column_++); }

void Statement::read_next(double& value) {
  value = is_null() ? std::numeric_limits<double>::quiet_NaN() : sqlite3_column_double(statement_, column_);
  ++column_;
}

void Statement::read_next(std::string& value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column_));
  if (text != nullptr) {
    value.assign(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column_)));
  }
  ++column_;
}

void Statement::read_next(std::vector<std::byte>& blob) {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column_));
  if (bytes != nullptr) blob.assign(bytes, bytes + sqlite3_column_bytes(statement_, column_));
  ++column_;
}

Transaction::Transaction(SqliteDatabase& database) : database_(database) {
  database_.require_in_place();
  Statement(database_, "BEGIN IMMEDIATE").run();
}

Transaction::~Transaction() {
  if (!database_.in_transaction()) return;  // committed, or SQLite itself rolled back after a full disk
  try {
    Statement(database_, "ROLLBACK").run();
  } catch (const StoreError& error) {
    spdlog::error("cannot roll back: {}", error.what());
  }
}

void Transaction::commit() { Statement(database_, "COMMIT").run(); }

}  // namespace mnistd::server
