#include "api/connection_pool.h"

#include <atomic>
#include <latch>

#include <doctest/doctest.h>

#include "tests/api/support.h"

namespace mnistd::api {
namespace {

using namespace std::chrono_literals;

ConnectionLimits limits(std::size_t threads, std::size_t reserve) {
  ConnectionLimits result;
  result.threads = threads;
  result.reserve = reserve;
  result.idle = 20ms;
  result.grace = 100ms;
  result.patience = 50ms;
  return result;
}

}  // namespace

TEST_CASE("every connection gets a thread at once, and idle threads retire") {
  ConnectionPool pool(limits(50, 10), nullptr);
  std::latch all(40), go(1);
  for (int i = 0; i < 40; ++i)
    pool.enqueue([&] {
      all.count_down();
      go.wait();
    });
  all.wait();  // a pool that queues would hang here
  CHECK(pool.threads() == 40);
  go.count_down();
  CHECK(eventually([&] { return pool.threads() == 0; }));
  std::atomic<bool> ran{false};
  pool.enqueue([&] { ran = true; });
  CHECK(eventually([&] { return ran.load(); }));
}

TEST_CASE("an idle thread is used again") {
  ConnectionLimits patient = limits(4, 1);
  patient.idle = 10s;
  ConnectionPool pool(patient, nullptr);
  std::atomic<int> done{0};
  for (int i = 1; i <= 20; ++i) {
    pool.enqueue([&] { ++done; });
    REQUIRE(eventually([&] { return done == i; }));
    std::this_thread::sleep_for(2ms);
  }
  CHECK(pool.threads() <= 2);
}

TEST_CASE("the last threads know that they are beyond the bound") {
  ConnectionPool pool(limits(4, 2), nullptr);
  std::latch go(1);
  std::atomic<int> started{0}, overflow{0};
  for (int i = 1; i <= 4; ++i) {
    pool.enqueue([&] {
      overflow += ConnectionPool::is_overflow();
      ++started;
      go.wait();
    });
    REQUIRE(eventually([&] { return started == i; }));
    CHECK(overflow == std::max(0, i - 2));
  }
  go.count_down();
}

TEST_CASE("a full pool refuses, or where httplib has no word for that, lets accepting wait a little") {
  ConnectionPool pool(limits(2, 1), nullptr);
  std::latch go(1);
  std::atomic<int> started{0}, done{0};
  const auto hold = [&] {
    ++started;
    go.wait();
    ++done;
  };
  pool.enqueue(hold);
  pool.enqueue(hold);
  REQUIRE(eventually([&] { return started == 2; }));
  const auto before = std::chrono::steady_clock::now();
  const auto enqueue = [&](auto& queue) -> bool {  // generic: only one of the branches compiles
    if constexpr (std::is_void_v<ConnectionPool::Enqueued>) {
      queue.enqueue([&] { ++done; });
      return true;
    } else {
      return queue.enqueue([&] { ++done; });
    }
  };
  const bool taken = enqueue(pool);
  if (taken) CHECK(std::chrono::steady_clock::now() - before >= 50ms);
  go.count_down();
  CHECK(eventually([&] { return done == (taken ? 3 : 2); }));
}

TEST_CASE("shutdown wakes those who wait, then cuts those who don't end") {
  std::atomic<int> receiving{0};
  std::atomic<bool> cut{false};
  ConnectionPool pool(limits(4, 1), [&](ConnectionPool::Cut how) {
    if (how == ConnectionPool::Cut::both) cut = true;
    ++receiving;
  });
  pool.enqueue([&] {
    while (!cut) std::this_thread::sleep_for(1ms);
  });
  const auto before = std::chrono::steady_clock::now();
  pool.shutdown();
  CHECK(cut);
  CHECK(receiving > 1);
  CHECK(pool.threads() == 0);
  CHECK(std::chrono::steady_clock::now() - before >= 100ms);
}

}  // namespace mnistd::api
