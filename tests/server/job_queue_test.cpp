#include "server/job_queue.h"

#include <atomic>
#include <set>
#include <thread>

#include <doctest/doctest.h>

using namespace mnistd::server;
using namespace std::chrono_literals;

TEST_CASE("ids come out in the order in which they went in") {
  JobQueue queue(3);
  for (const char* id : {"a", "b", "c"}) {
    REQUIRE(queue.reserve());
    queue.push(id);
  }
  CHECK(queue.size() == 3);
  CHECK(queue.pop(0ms) == "a");
  CHECK(queue.pop(0ms) == "b");
  CHECK(queue.pop(0ms) == "c");
  CHECK_FALSE(queue.pop(1ms));
}

TEST_CASE("a reservation takes a place until it is used or given back") {
  JobQueue queue(2);
  CHECK(queue.reserve());
  CHECK(queue.reserve());
  CHECK(queue.size() == 2);
  CHECK_FALSE(queue.reserve());
  queue.cancel_reservation();
  CHECK(queue.reserve());
  queue.push("a");
  CHECK_FALSE(queue.reserve());
  CHECK(queue.pop(0ms) == "a");
  CHECK(queue.reserve());
}

TEST_CASE("restored jobs may exceed the limit, and then nobody gets a place") {
  JobQueue queue(1);
  queue.restore("a");
  queue.restore("b");
  CHECK(queue.size() == 2);
  CHECK_FALSE(queue.reserve());
  queue.pop(0ms);
  CHECK_FALSE(queue.reserve());
  queue.pop(0ms);
  CHECK(queue.reserve());
}

TEST_CASE("a removed id is not popped; one that is gone can't be removed") {
  JobQueue queue(3);
  queue.restore("a");
  queue.restore("b");
  CHECK(queue.remove("a"));
  CHECK_FALSE(queue.remove("a"));
  CHECK(queue.pop(0ms) == "b");
  CHECK_FALSE(queue.remove("b"));
}

TEST_CASE("closing wakes who waits, keeps what is left, and gives no more places") {
  JobQueue queue(3);
  std::atomic<bool> woken{false};
  std::thread waiting([&] {
    CHECK_FALSE(queue.pop(60s));
    woken = true;
  });
  std::this_thread::sleep_for(20ms);
  CHECK_FALSE(woken);
  REQUIRE(queue.reserve());
  queue.close();
  waiting.join();
  queue.push("late");  // its place was reserved, its job is stored
  CHECK(queue.is_closed());
  CHECK_FALSE(queue.reserve());
  CHECK_FALSE(queue.pop(0ms));
  CHECK(queue.size() == 1);
  CHECK(queue.remove("late"));
}

TEST_CASE("every id is popped or removed, by one thread, however many there are") {
  constexpr int kJobs = 4000;
  JobQueue queue(16);
  std::mutex mutex;
  std::multiset<std::string> popped, removed, announced;
  std::atomic<int> pushed{0};
  std::vector<std::thread> threads;
  for (int producer = 0; producer < 2; ++producer) {
    threads.emplace_back([&] {
      for (;;) {
        if (!queue.reserve()) {
          std::this_thread::yield();
          continue;
        }
        const int number = pushed++;
        if (number >= kJobs) return queue.cancel_reservation();
        queue.push(std::to_string(number));
      }
    });
  }
  threads.emplace_back([&] {
    while (!queue.is_closed()) {
      const auto id = queue.pop(10ms, [&](const std::string& taken) {
        const std::lock_guard lock(mutex);
        announced.insert(taken);
      });
      const std::lock_guard lock(mutex);
      if (id) popped.insert(*id);
    }
  });
  threads.emplace_back([&] {
    for (int number = 0; number < kJobs; number += 3) {
      const std::string id = std::to_string(number);
      for (;;) {  // it is in the queue, or announced as taken, or not pushed yet
        if (queue.remove(id)) {
          const std::lock_guard lock(mutex);
          removed.insert(id);
          break;
        }
        const std::lock_guard lock(mutex);
        if (announced.contains(id)) break;
      }
    }
  });
  threads[0].join();
  threads[1].join();
  threads[3].join();
  while (queue.size() > 0) std::this_thread::yield();
  queue.close();
  threads[2].join();
  CHECK(popped == announced);
  std::set<std::string> all(popped.begin(), popped.end());
  all.insert(removed.begin(), removed.end());
  CHECK(popped.size() + removed.size() == kJobs);
  CHECK(all.size() == kJobs);
}
