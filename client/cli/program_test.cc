#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "client/cpp/src/scripted_server.h"
#include "gtest/gtest.h"

extern char** environ;

namespace snowlease::cli {
namespace {

// Starts the real program with its stdout on `out`.
pid_t Start(std::vector<std::string> arguments, const char* out) {
  std::string program = SNOWLEASE_PROGRAM;
  std::vector<char*> pointers = {program.data()};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out, O_WRONLY, 0);
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, SNOWLEASE_PROGRAM, &files, nullptr, pointers.data(), environ), 0);
  posix_spawn_file_actions_destroy(&files);
  return pid;
}

int ExitCodeOf(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProgramTest, OutputThatCannotBeWrittenIsNoSuccess) {
  EXPECT_EQ(ExitCodeOf(Start({"version"}, "/dev/full")), 1);
  EXPECT_EQ(ExitCodeOf(Start({"version"}, "/dev/null")), 0);
}

class CountingServer final : public v1::MachineIdService::Service {
 public:
  CountingServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  grpc::Status Claim(grpc::ServerContext*, const v1::ClaimRequest*,
                     v1::ClaimResponse* response) override {
    ++claims;
    response->mutable_lease()->set_machine_id(0);
    response->mutable_lease()->set_token(1);
    return grpc::Status::OK;
  }
  grpc::Status Renew(grpc::ServerContext*, const v1::RenewRequest*, v1::RenewResponse*) override {
    ++renewals;
    return grpc::Status::OK;
  }
  grpc::Status Release(grpc::ServerContext*, const v1::ReleaseRequest*,
                       v1::ReleaseResponse*) override {
    ++releases;
    return grpc::Status::OK;
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  std::atomic<int> claims{0}, renewals{0}, releases{0};

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(ProgramTest, InterruptedBenchGivesBackWhatItClaimed) {
  CountingServer server;
  const pid_t pid = Start({"bench", "renew", "--server", server.address(), "--leases", "200",
                           "--outstanding", "16", "--warmup", "0", "--duration", "100s"},
                          "/dev/null");
  while (server.renewals < 100 && kill(pid, 0) == 0 && waitpid(pid, nullptr, WNOHANG) == 0) {
    std::this_thread::yield();
  }
  ASSERT_GE(server.renewals, 100) << "the program ended by itself";
  // Some senders deliver it twice.
  kill(pid, SIGINT);
  kill(pid, SIGINT);
  EXPECT_EQ(ExitCodeOf(pid), 0);
  EXPECT_EQ(server.claims, 200);
  EXPECT_EQ(server.releases, 200);
}

}  // namespace
}  // namespace snowlease::cli
