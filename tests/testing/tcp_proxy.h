#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace snowlease::testing {

// Passes loopback connections on to a port, and cuts them where a test wants it.
class TcpProxy {
 public:
  explicit TcpProxy(int target_port);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  int port() const { return port_; }
  // The next request that has `text` in it still reaches the target; when its answer
  // comes, the connection is cut instead.
  void CutAnswerTo(const std::string& text);
  // How many connections were cut.
  int cuts() const { return cuts_; }
  // From here on nothing is passed on, and nothing is closed: a host that is gone.
  void GoSilent() { silent_ = true; }
  void GoOn() { silent_ = false; }

 private:
  void Accept();
  void Serve(int client);
  bool Takes(const std::string& request);

  const int target_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> ended_{false};
  std::atomic<bool> silent_{false};
  std::atomic<int> cuts_{0};
  std::mutex mutex_;
  std::string cut_text_;
  std::vector<std::thread> servers_;
  std::thread acceptor_;
};

}  // namespace snowlease::testing
