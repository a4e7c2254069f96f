#include "api/connection.h"

#include <atomic>
#include <thread>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/connection_server.h"
#include "api/problem.h"
#include "tests/api/support.h"

namespace mnistd::api {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A connection whose other end the test holds.
class Pair {
 public:
  explicit Pair(ConnectionTimes times = {}) {
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) == 0);
    connection_.emplace(ends_[0], times);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() { ::close(ends_[1]); }

  Connection& connection() { return *connection_; }
  void send(const std::string& bytes) {
    REQUIRE(::send(ends_[1], bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }
  void try_send(const std::string& bytes) {
    ::send(ends_[1], bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void end() { ::shutdown(ends_[1], SHUT_WR); }
  // What the other end has been sent, at most `size` bytes of it.
  std::string receive(std::size_t size) {
    std::string bytes(size, '\0');
    const ssize_t count = ::recv(ends_[1], bytes.data(), size, 0);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }
  // What httplib would get if it read to the end.
  std::string read_request() {
    std::string bytes;
    char buffer[7];
    for (;;) {
      const ssize_t count = connection().read(buffer, sizeof buffer);
      if (count <= 0) return bytes;
      bytes.append(buffer, static_cast<std::size_t>(count));
    }
  }

 private:
  int ends_[2];
  std::optional<Connection> connection_;
};

int status_of_next(Connection& connection) {
  try {
    return connection.next() ? 200 : 0;
  } catch (const Refusal& refused) {
    return refused.problem().status;
  }
}

const std::string kPost = "POST / HTTP/1.1\r\ncontent-length: 5\r\nhost: x\r\n\r\n";
const std::string kGet = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

}  // namespace

TEST_CASE("requests sent together are read apart, each to its last byte") {
  Pair pair;
  pair.send(kPost + "GET /" + kGet + "\r\n" + kPost + "GET");
  REQUIRE(pair.connection().next());
  CHECK(pair.read_request() == kPost + "GET /");
  CHECK(pair.connection().is_in_step());
  REQUIRE(pair.connection().next());
  CHECK(pair.read_request() == kGet);
  REQUIRE(pair.connection().next());
  CHECK_FALSE(pair.connection().is_in_step());
  pair.end();
  CHECK(pair.read_request() == kPost + "GET");
  CHECK_FALSE(pair.connection().is_in_step());
}

TEST_CASE("empty lines before a request are passed over, wherever a packet ends, but not for ever") {
  Pair pair;
  std::thread sender([&] {
    for (const char* part : {"\r", "\n\r\n\r", "\nGET / HTTP/1.1\r\nhost: x\r\n\r\n"}) {
      pair.send(part);
      std::this_thread::sleep_for(20ms);
    }
  });
  CHECK(status_of_next(pair.connection()) == 200);
  sender.join();
  CHECK(pair.read_request() == kGet);

  ConnectionTimes times;
  times.head = 200ms;
  Pair flooded(times);
  std::atomic<bool> done{false};
  std::thread flood([&] {
    std::string lines;
    for (int i = 0; i < 4096; ++i) lines += "\r\n";
    while (!done) flooded.try_send(lines);
  });
  const Clock::time_point before = Clock::now();
  CHECK(status_of_next(flooded.connection()) != 200);
  CHECK(Clock::now() - before < 5s);
  done = true;
  flood.join();
}

TEST_CASE("an answer goes out whole to a slow reader; one that never reads is given up") {
  ConnectionTimes times;
  times.write = 200ms;
  std::string answer(4'000'000, ' ');  // more than the kernel takes at once
  for (std::size_t i = 0; i < answer.size(); ++i) answer[i] = static_cast<char>('a' + i % 23);

  Pair slow(times);
  std::string received;
  std::thread reader([&] {
    while (received.size() < answer.size()) {
      received += slow.receive(100'000);
      std::this_thread::sleep_for(1ms);
    }
  });
  CHECK(slow.connection().write(answer.data(), answer.size()) == static_cast<ssize_t>(answer.size()));
  reader.join();
  CHECK((received == answer));

  Pair silent(times);
  const Clock::time_point before = Clock::now();
  CHECK(silent.connection().write(answer.data(), answer.size()) == -1);
  CHECK(Clock::now() - before >= 200ms);
  CHECK(Clock::now() - before < 5s);
  CHECK_FALSE(silent.connection().is_in_step());
}

TEST_CASE("a head byte by byte, a peer that says nothing, one that ends in the middle") {
  ConnectionTimes times;
  times.idle = times.head = times.silence = 100ms;
  Pair slow;
  std::thread sender([&] {
    for (const char c : kGet) {
      std::this_thread::sleep_for(1ms);
      slow.send(std::string(1, c));
    }
  });
  CHECK(status_of_next(slow.connection()) == 200);
  sender.join();
  CHECK(slow.read_request() == kGet);

  Pair silent(times);
  CHECK(status_of_next(silent.connection()) == 0);
  Pair late(times);
  late.send("GET /");
  CHECK(status_of_next(late.connection()) == 408);
  Pair ended(times);
  ended.send("GET /");
  ended.end();
  CHECK(status_of_next(ended.connection()) == 400);
}

TEST_CASE("a body that drips is cut off by the clock, though it is never silent for long") {
  ConnectionTimes times;
  times.silence = 10s;
  times.request = 300ms;
  Pair pair(times);
  pair.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
  REQUIRE(pair.connection().next());
  std::atomic<bool> over{false};
  std::thread sender([&] {
    while (!over) {
      pair.send("x");
      std::this_thread::sleep_for(10ms);
    }
  });
  const auto start = Clock::now();
  pair.read_request();
  CHECK(Clock::now() - start < 5s);
  CHECK(Clock::now() - start > 250ms);
  CHECK_FALSE(pair.connection().is_in_step());
  over = true;
  sender.join();
}

TEST_CASE("only so many bytes of large bodies are held at once") {
  BodyBudget budget(20 * 1024 * 1024);
  std::optional<BodyBudget::Share> first, second, third;
  first.emplace(budget, 8 * 1024 * 1024);
  second.emplace(budget, 1'000'000'000);  // no more than the largest body is ever held
  CHECK_THROWS_AS(third.emplace(budget, 8 * 1024 * 1024), Refusal);
  CHECK_NOTHROW(third.emplace(budget, 64 * 1024));
  second.reset();
  CHECK_NOTHROW(second.emplace(budget, 8 * 1024 * 1024));
}

}  // namespace mnistd::api
