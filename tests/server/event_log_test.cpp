#include "server/event_log.h"

#include <atomic>
#include <map>
#include <thread>

#include <doctest/doctest.h>

#include "tests/server/support.h"

using namespace mnistd;
using namespace mnistd::server;
using namespace std::chrono_literals;

namespace {

constexpr int kCapacity = static_cast<int>(EventLog::kCapacity);

void append(EventLog& log, int iteration) { log.append(row_of(iteration), progress_at(iteration)); }

}  // namespace

TEST_CASE("only the running job has rows and progress") {
  EventLog log;
  CHECK_FALSE(log.recent("a", 0, 10));
  CHECK_FALSE(log.recent("", 0, 10));
  log.begin("a", 0);
  REQUIRE(log.recent("a", 0, 10));
  CHECK(log.recent("a", 0, 10)->complete);
  CHECK(log.recent("a", 0, 10)->rows.empty());
  CHECK_FALSE(log.progress("a"));  // nothing reported yet
  append(log, 1);
  CHECK(log.progress("a")->iteration == 1);
  CHECK_FALSE(log.recent("b", 0, 10));
  CHECK_FALSE(log.progress("b"));
  log.finish();
  CHECK_FALSE(log.recent("a", 0, 10));
  CHECK_FALSE(log.progress("a"));
}

TEST_CASE("rows after an iteration, in order, at most as many as asked for") {
  EventLog log;
  log.begin("a", 0);
  for (const int iteration : {1, 10, 20, 30}) append(log, iteration);
  const auto some = log.recent("a", 1, 2);
  REQUIRE(some->rows.size() == 2);
  CHECK(some->rows[0].iteration == 10);
  CHECK(some->rows[0].loss == row_of(10).loss);
  CHECK(some->rows[1].iteration == 20);
  CHECK(log.recent("a", 15, 10)->rows.size() == 2);
  CHECK(log.recent("a", 30, 10)->rows.empty());
  CHECK(log.recent("a", 30, 10)->complete);
}

TEST_CASE("rows leave a full ring only when they are stored") {
  EventLog log;
  log.begin("a", 0);
  for (int i = 1; i <= kCapacity + 100; ++i) append(log, i * 10);
  CHECK(log.recent("a", 0, 2 * kCapacity)->complete);
  CHECK(static_cast<int>(log.recent("a", 0, 2 * kCapacity)->rows.size()) == kCapacity + 100);

  log.mark_stored(600);  // rows 10 .. 600
  CHECK_FALSE(log.recent("a", 0, 1)->complete);
  CHECK_FALSE(log.recent("a", 599, 1)->complete);
  CHECK(log.recent("a", 600, 1)->complete);
  CHECK(log.recent("a", 600, 1)->rows[0].iteration == 610);

  log.mark_stored((kCapacity + 100) * 10);
  CHECK_FALSE(log.recent("a", 999, 1)->complete);
  CHECK(log.recent("a", 1000, 1)->complete);
  CHECK(static_cast<int>(log.recent("a", 1000, 2 * kCapacity)->rows.size()) == kCapacity);
}

TEST_CASE("a reader whose place lies between two reports misses nothing when the earlier one is dropped") {
  EventLog log;
  log.begin("a", 0);
  append(log, 1);
  for (int i = 1; i <= kCapacity; ++i) append(log, i * 1000);
  log.mark_stored(1000);  // the ring is one too long: row 1 goes
  CHECK_FALSE(log.recent("a", 0, 1)->complete);
  CHECK(log.recent("a", 500, 1)->complete);
  CHECK(log.recent("a", 500, 1)->rows[0].iteration == 1000);
}

TEST_CASE("of a job that goes on from a checkpoint, earlier rows are in the store") {
  EventLog log;
  log.begin("a", 50);
  CHECK_FALSE(log.recent("a", 0, 10)->complete);
  CHECK_FALSE(log.recent("a", 49, 10)->complete);
  CHECK(log.recent("a", 50, 10)->complete);
  append(log, 51);
  CHECK_FALSE(log.recent("a", 0, 10)->complete);
  CHECK(log.recent("a", 50, 10)->rows.size() == 1);
  CHECK(log.recent("a", 70, 10)->complete);  // it saw rows that are being told again
  CHECK(log.recent("a", 70, 10)->rows.empty());
}

TEST_CASE("everything rings the bell") {
  EventLog log;
  std::uint64_t version = log.version();
  const auto rang = [&] {
    const std::uint64_t before = version;
    version = log.version();
    return version != before;
  };
  CHECK_FALSE(rang());
  log.begin("a", 0);
  CHECK(rang());
  append(log, 1);
  CHECK(rang());
  log.mark_stored(1);
  CHECK(rang());
  log.ring();
  CHECK(rang());
  log.finish();
  CHECK(rang());
  log.close();
  CHECK(rang());
  CHECK(log.is_closed());
}

TEST_CASE("waiting ends with the deadline, with the bell, and for good once closed") {
  EventLog log;
  const std::uint64_t seen = log.version();
  const auto begin = std::chrono::steady_clock::now();
  CHECK(log.wait(seen, begin + 30ms) == seen);
  CHECK(std::chrono::steady_clock::now() - begin >= 30ms);
  log.ring();
  CHECK(log.wait(seen, begin + 60s) != seen);  // it rang before the wait
  std::thread ringing([&] {
    std::this_thread::sleep_for(20ms);
    log.ring();
  });
  CHECK(log.wait(log.version(), begin + 60s) != seen);
  ringing.join();
  log.close();
  log.wait(log.version(), begin + 3600s);
  CHECK(std::chrono::steady_clock::now() - begin < 60s);
}

TEST_CASE("many readers see every row once, in order, through ring and store") {
  constexpr int kRows = 30'000;
  EventLog log;
  std::mutex store_mutex;
  std::map<int, double> store;
  log.begin("a", 0);

  const auto read_all = [&](int limit, std::chrono::microseconds pause) {
    int after = 0;
    bool in_order = true;
    while (after < kRows) {
      const std::uint64_t seen = log.version();
      const auto recent = log.recent("a", after, limit);
      if (recent->complete) {
        for (const auto& row : recent->rows) {
          in_order = in_order && row.iteration == after + 1;
          after = row.iteration;
        }
        if (recent->rows.empty()) log.wait(seen, std::chrono::steady_clock::now() + 10s);
      } else {
        const std::lock_guard lock(store_mutex);
        int count = 0;
        for (auto at = store.upper_bound(after); at != store.end() && count < limit; ++at, ++count) {
          in_order = in_order && at->first == after + 1;
          after = at->first;
        }
        in_order = in_order && count > 0;  // what the ring has dropped is in the store already
      }
      if (!in_order) break;
      std::this_thread::sleep_for(pause);
    }
    return in_order;
  };
  std::vector<std::thread> readers;
  std::atomic<int> good{0};
  for (const int limit : {1, 7, 100, 1000}) {
    readers.emplace_back([&, limit] { good += read_all(limit, limit == 100 ? 500us : 0us) ? 1 : 0; });
  }
  for (int i = 1; i <= kRows; ++i) {
    append(log, i);
    if (i % 500 == 0) {
      {
        const std::lock_guard lock(store_mutex);
        for (int k = i - 499; k <= i; ++k) store[k] = 1.0 / k;
      }
      log.mark_stored(i);
    }
  }
  for (std::thread& reader : readers) reader.join();
  CHECK(good == 4);
}
