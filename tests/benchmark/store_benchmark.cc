// How fast a store is without the service: batches of one operation, one after the
// other, from one thread.
//   snowlease-store-benchmark STORE_URL claim|renew BATCH SECONDS
// The store must be empty. Prints one line of JSON: operations per second.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "storage/clock.h"
#include "storage/store_factory.h"

namespace snowlease {
namespace {

using storage::BatchResult;
using storage::ClaimSpec;
using storage::Clock;
using storage::Lease;
using storage::LeaseStore;
using storage::RenewSpec;

constexpr int kMachineBits = 20;
constexpr size_t kRenewedLeases = 10'000;
constexpr size_t kClaimsAtOnce = 512;

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

class Load {
 public:
  explicit Load(LeaseStore* store) : store_(store) {}

  void Claim(size_t batch) {
    std::vector<ClaimSpec> specs(batch);
    for (ClaimSpec& spec : specs) {
      const std::string number = std::to_string(claimed_.size() + (&spec - specs.data()));
      spec.name_space = "bench";
      spec.instance_id = "instance-" + number;
      number.copy(reinterpret_cast<char*>(spec.incarnation_id.data()), spec.incarnation_id.size());
      spec.machine_bits = kMachineBits;
      spec.client_time = ClientNow();
    }
    for (const auto& lease : store_->Claim(specs, {})) {
      const storage::LeaseRow& row = OrFail(lease).row;
      claimed_.push_back({row.name_space, row.machine_id, *row.instance_id, row.token});
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

  bool IsFull(size_t batch) const { return claimed_.size() + batch > size_t{1} << kMachineBits; }

 private:
  LeaseStore* store_;
  std::vector<storage::GrantKey> claimed_;
  size_t next_ = 0;
};

int Run(const std::string& url, const std::string& operation, size_t batch, double seconds) {
  auto store = storage::OpenStore(url, {}, Clock::Real());
  if (!store.ok()) Fail(std::string(store.status().message()));
  if (const auto status = (*store)->Migrate(storage::MigrateMode::kAuto); !status.ok()) {
    Fail(std::string(status.message()));
  }
  Load load(store->get());
  const bool renews = operation == "renew";
  for (size_t n = 0; renews && n < kRenewedLeases; n += kClaimsAtOnce) load.Claim(kClaimsAtOnce);

  const auto start = Clock::Real()->SteadyNow();
  size_t done = 0;
  double elapsed = 0;
  while (elapsed < seconds && (renews || !load.IsFull(batch))) {
    renews ? load.Renew(batch) : load.Claim(batch);
    done += batch;
    elapsed = SecondsSince(start);
  }
  std::printf("{\"operation\": \"%s\", \"batch\": %zu, \"per_second\": %.0f}\n", operation.c_str(),
              batch, static_cast<double>(done) / elapsed);
  return 0;
}

}  // namespace
}  // namespace snowlease

int main(int argc, char** argv) {
  const std::string operation = argc > 2 ? argv[2] : "";
  const long batch = argc > 3 ? std::atol(argv[3]) : 0;
  const double seconds = argc > 4 ? std::atof(argv[4]) : 0;
  if (argc != 5 || (operation != "claim" && operation != "renew") || batch < 1 || seconds <= 0) {
    std::fprintf(stderr, "usage: snowlease-store-benchmark STORE_URL claim|renew BATCH SECONDS\n");
    return 2;
  }
  return snowlease::Run(argv[1], operation, static_cast<size_t>(batch), seconds);
}
