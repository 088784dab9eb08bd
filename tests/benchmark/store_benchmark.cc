// How fast a store is without the service: batches of one operation, one after the
// other, from one thread or several.
//   snowlease-store-benchmark STORE_URL claim|renew|overflow BATCH SECONDS [NAME=VALUE...]
// The store must be empty, unless "overflow" (every claim must be refused, as the
// namespace is full) or "claim" is to meet a namespace that is there.
//   threads=1         each with batches of its own
//   leases=10000      of `renew`: how many there are
//   namespace=bench   where
//   bits=20           of its machine ids
//   most=0            batches after which each thread ends; 0: any number
// Prints one line of JSON: operations per second, and the median time of a batch.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "storage/clock.h"
#include "storage/errors.h"
#include "storage/store_factory.h"

namespace snowlease {
namespace {

using storage::ClaimSpec;
using storage::Clock;
using storage::Lease;
using storage::LeaseStore;
using storage::RenewSpec;

constexpr size_t kClaimsAtOnce = 512;

struct Options {
  std::string url;
  std::string operation;
  size_t batch = 0;
  double seconds = 0;
  size_t threads = 1;
  size_t leases = 10'000;
  std::string name_space = "bench";
  int bits = 20;
  size_t most = 0;
};

storage::ClientTime ClientNow() { return {Clock::Real()->Now().ms}; }

double SecondsSince(storage::SteadyTime start) {
  return std::chrono::duration<double>(Clock::Real()->SteadyNow() - start).count();
}

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "snowlease-store-benchmark: %s\n", what.c_str());
  std::exit(1);
}

template <typename T>
const T& OrFail(const absl::StatusOr<T>& result) {
  if (!result.ok()) Fail(std::string(result.status().message()));
  return *result;
}

// What one thread does.
class Load {
 public:
  Load(LeaseStore* store, const Options* options, size_t number)
      : store_(store), options_(options), name_("instance-" + std::to_string(number) + "-") {}

  void Claim(size_t batch) {
    const std::vector<ClaimSpec> specs = Specs(batch);
    for (const auto& lease : store_->Claim(specs, {})) {
      const storage::LeaseRow& row = OrFail(lease).row;
      claimed_.push_back({row.name_space, row.machine_id, *row.instance_id, row.token});
    }
  }

  void MeetOverflow(size_t batch) {
    for (const auto& lease : store_->Claim(Specs(batch), {})) {
      if (lease.ok()) Fail("the namespace was not full");
      if (storage::ReasonOf(lease.status()) != storage::Reason::kMachineIdOverflow) {
        OrFail(lease);
      }
    }
  }

  // The next `batch` of the claimed leases, in turn.
  void Renew(size_t batch) {
    std::vector<RenewSpec> specs(batch);
    for (RenewSpec& spec : specs) {
      spec.grant = claimed_[next_];
      spec.client_time = ClientNow();
      spec.last_timestamp = spec.client_time;
      next_ = (next_ + 1) % claimed_.size();
    }
    for (const auto& lease : store_->Renew(specs, {})) OrFail(lease);
  }

  void Prepare() {
    const size_t wanted = options_->operation == "renew" ? options_->leases / options_->threads : 0;
    while (claimed_.size() < wanted) Claim(std::min(kClaimsAtOnce, wanted - claimed_.size()));
  }

  void Run() {
    const size_t room = (size_t{1} << options_->bits) / options_->threads;
    const bool claims = options_->operation == "claim";
    const auto start = Clock::Real()->SteadyNow();
    auto before = start;
    while (SecondsSince(start) < options_->seconds) {
      if (options_->most > 0 && times_us_.size() >= options_->most) return;
      if (claims && claimed_.size() + options_->batch > room) return;
      Once();
      const auto now = Clock::Real()->SteadyNow();
      times_us_.push_back(std::chrono::duration<double, std::micro>(now - before).count());
      before = now;
    }
  }

  const std::vector<double>& times_us() const { return times_us_; }

 private:
  std::vector<ClaimSpec> Specs(size_t batch) {
    std::vector<ClaimSpec> specs(batch);
    for (ClaimSpec& spec : specs) {
      const std::string number = std::to_string(made_++);
      spec.name_space = options_->name_space;
      spec.instance_id = name_ + number;
      number.copy(reinterpret_cast<char*>(spec.incarnation_id.data()), spec.incarnation_id.size());
      spec.machine_bits = options_->bits;
      spec.client_time = ClientNow();
    }
    return specs;
  }

  void Once() {
    if (options_->operation == "renew") {
      Renew(options_->batch);
    } else if (options_->operation == "claim") {
      Claim(options_->batch);
    } else {
      MeetOverflow(options_->batch);
    }
  }

  LeaseStore* const store_;
  const Options* const options_;
  const std::string name_;
  std::vector<storage::GrantKey> claimed_;
  std::vector<double> times_us_;
  size_t next_ = 0;
  size_t made_ = 0;
};

template <typename F>
void InThreads(std::vector<Load>& loads, F work) {
  std::vector<std::thread> threads;
  for (Load& load : loads) threads.emplace_back([&load, work] { work(load); });
  for (std::thread& thread : threads) thread.join();
}

int Run(const Options& options) {
  auto store = storage::OpenStore(options.url, {}, Clock::Real());
  if (!store.ok()) Fail(std::string(store.status().message()));
  if (const auto status = (*store)->Migrate(storage::MigrateMode::kAuto); !status.ok()) {
    Fail(std::string(status.message()));
  }
  // Process by process other names, so that a namespace that is there can be met again.
  const auto first = static_cast<size_t>(ClientNow().ms % 1'000'000'000) * 100;
  std::vector<Load> loads;
  for (size_t i = 0; i < options.threads; ++i)
    loads.emplace_back(store->get(), &options, first + i);
  InThreads(loads, [](Load& load) { load.Prepare(); });
  const auto start = Clock::Real()->SteadyNow();
  InThreads(loads, [](Load& load) { load.Run(); });
  const double elapsed = SecondsSince(start);

  std::vector<double> times;
  for (const Load& load : loads) {
    times.insert(times.end(), load.times_us().begin(), load.times_us().end());
  }
  if (times.empty()) Fail("there was no time for a batch");
  std::sort(times.begin(), times.end());
  std::printf("{\"operation\": \"%s\", \"batch\": %zu, \"per_second\": %.0f, \"p50_us\": %.0f}\n",
              options.operation.c_str(), options.batch,
              static_cast<double>(times.size() * options.batch) / elapsed, times[times.size() / 2]);
  return 0;
}

[[noreturn]] void Usage() {
  std::fprintf(stderr,
               "usage: snowlease-store-benchmark STORE_URL claim|renew|overflow BATCH SECONDS "
               "[threads=N] [leases=N] [namespace=NAME] [bits=N] [most=N]\n");
  std::exit(2);
}

Options Parse(int argc, char** argv) {
  if (argc < 5) Usage();
  Options options;
  options.url = argv[1];
  options.operation = argv[2];
  options.batch = std::strtoul(argv[3], nullptr, 10);
  options.seconds = std::atof(argv[4]);
  std::map<std::string, std::string> named;
  for (int i = 5; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = text.find('=');
    if (equals == std::string::npos) Usage();
    named[text.substr(0, equals)] = text.substr(equals + 1);
  }
  const auto take = [&](const std::string& name, auto set) {
    if (const auto found = named.find(name); found != named.end()) {
      set(found->second);
      named.erase(found);
    }
  };
  const auto number = [](const std::string& text) {
    return std::strtoul(text.c_str(), nullptr, 10);
  };
  take("threads", [&](const std::string& text) { options.threads = number(text); });
  take("leases", [&](const std::string& text) { options.leases = number(text); });
  take("namespace", [&](const std::string& text) { options.name_space = text; });
  take("bits", [&](const std::string& text) { options.bits = static_cast<int>(number(text)); });
  take("most", [&](const std::string& text) { options.most = number(text); });
  const bool known = options.operation == "claim" || options.operation == "renew" ||
                     options.operation == "overflow";
  const bool sane = options.batch > 0 && options.seconds > 0 && options.threads > 0 &&
                    options.leases >= options.threads && options.bits >= 1 && options.bits <= 30;
  if (!known || !sane || !named.empty()) Usage();
  return options;
}

}  // namespace
}  // namespace snowlease

int main(int argc, char** argv) { return snowlease::Run(snowlease::Parse(argc, argv)); }
