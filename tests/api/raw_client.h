// A TCP connection to say exactly these bytes on, for what an HTTP library would not send.
#pragma once

#include <chrono>
#include <string>

namespace mnistd::api {

class RawClient {
 public:
  explicit RawClient(int port);
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient();

  bool send(const std::string& bytes);
  void close();
  void shut_sending();
  // Reads until `end` is in what was received so far, the peer closes, or time is up; gives all received so far.
  const std::string& read_until(const std::string& end,
                                std::chrono::milliseconds patience = std::chrono::seconds(20));
  const std::string& read_answer();  // one whole answer that has a Content-Length
  const std::string& read_all() { return read_until("\r\n\r\n(never)"); }  // until the peer closes

 private:
  int socket_ = -1;
  std::string received_;
};

// The body of a chunked answer; what is cut off in the middle counts as absent. `complete` tells of the last chunk.
std::string dechunk(const std::string& answer, bool* complete = nullptr);

}  // namespace mnistd::api
