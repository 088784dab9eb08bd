#pragma once

#include <httplib.h>

#include <functional>
#include <string>

#include "storage/clock.h"

namespace snowlease::service {

// One connection with one request, with a limit for the whole of receiving it and a
// limit for the whole of answering; httplib's own streams only limit each read. Not
// thread-safe; does not own the socket.
class ConnectionStream final : public httplib::Stream {
 public:
  struct Limits {
    storage::Millis receive{10'000};
    storage::Millis send{10'000};
    size_t max_bytes = 128 * 1024;  // head and body
    // Asked while a request is slow in coming: give up now?
    std::function<bool()> give_way;
  };

  ConnectionStream(int socket, storage::Clock* clock, Limits limits);

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* data, size_t size) override;
  ssize_t write(const char* data, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

  // Ends the answer and takes in what the client still sends for a moment: closing a
  // socket with unread data would destroy the answer on its way.
  void Finish();

 private:
  // Waits for the event until the time; false: it did not come.
  bool Await(int16_t event, storage::SteadyTime until) const;
  bool Fill();

  const int socket_;
  storage::Clock* const clock_;
  const Limits limits_;
  const storage::SteadyTime started_;
  storage::SteadyTime send_until_{};  // set by the first write
  size_t received_ = 0;
  std::string buffer_;
  size_t taken_ = 0;  // of the buffer
};

}  // namespace snowlease::service
