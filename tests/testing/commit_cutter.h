#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace snowlease::testing {

// Stands between a client and a MySQL server on a loopback port and, when told to, cuts the
// connection after the server has committed and before the client hears of it.
class CommitCutter {
 public:
  explicit CommitCutter(uint16_t server_port);
  ~CommitCutter();
  CommitCutter(const CommitCutter&) = delete;
  CommitCutter& operator=(const CommitCutter&) = delete;

  uint16_t port() const { return port_; }
  // Cuts the connection that commits next; one.
  void CutNextCommit() { armed_ = true; }
  int cuts() const { return cuts_; }

 private:
  void Accept();
  void Forward(int client);
  // False: the connection is to be closed.
  bool ForwardToServer(int client, int server);
  bool ForwardToClient(int server, int client) const;

  const uint16_t server_port_;
  uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<bool> stop_{false};
  std::atomic<bool> armed_{false};
  std::atomic<int> cuts_{0};
  std::mutex mutex_;
  std::vector<std::thread> forwarders_;
  std::thread acceptor_;
};

}  // namespace snowlease::testing
