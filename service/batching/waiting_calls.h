#pragma once

#include <deque>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "service/batching/group_commit_events.h"

namespace snowlease::service {

// The calls that wait for a worker. A claim is pinned to a worker by its namespace, any
// other call by its lease (namespace and machine id), so that claims of a namespace and
// calls of a lease are never under way twice. Each namespace has a lane per worker and
// kind; the lanes that have a call ready take turns. Of one lease only the oldest group is
// ready, so its calls stay in order over all kinds and a batch never holds a lease twice.
//
// No threads, clock or I/O; the same steps with the same seed do the same.
class WaitingCalls {
 private:
  struct Group;
  struct Lane;
  struct Namespace;

 public:
  WaitingCalls(int workers, uint64_t seed);
  WaitingCalls(const WaitingCalls&) = delete;
  WaitingCalls& operator=(const WaitingCalls&) = delete;

  // Where a call would wait; good until the next change.
  struct Place {
    int worker = 0;
    uint64_t name_hash = 0;
    Namespace* name_space = nullptr;  // null: nothing of this namespace waits
    Group* same = nullptr;            // an equal call waits and can be joined
  };
  Place Find(CallKind kind, const CallKey& key) const;

  // What stands before a call in its lane.
  struct LaneLoad {
    size_t calls = 0;
    size_t groups = 0;
    // The oldest of the lane, or since when the lane whose turn is next waits for it.
    SteadyTime waiting_since = SteadyTime::max();
  };
  LaneLoad LoadOf(const Place& place, CallKind kind) const;

  void Add(const Place& place, const CallArrived& call, SteadyTime now);

  bool HasReady(int worker, CallKind kind) const { return RingOf(worker, kind).first != nullptr; }
  // Moves up to `max_groups` groups into the batch, the lanes in turn; calls whose
  // deadline has passed go to `expired` instead.
  void Take(int worker, CallKind kind, size_t max_groups, SteadyTime now, Batch* batch,
            std::vector<CallId>* expired);
  void DropExpired(SteadyTime now, std::vector<CallId>* expired);

  size_t size() const { return size_; }
  size_t size(int worker) const { return size_by_worker_[worker]; }
  size_t lanes() const { return lanes_; }

 private:
  struct WaitingCall {
    CallId id = 0;
    SteadyTime deadline;
    WaitingCall* next = nullptr;
  };

  // Equal calls: one element of a batch.
  struct Group {
    CallKind kind = CallKind::kRenew;
    Lane* lane = nullptr;
    std::string instance_id;
    uint32_t machine_id = 0;
    uint64_t token = 0;
    std::array<uint8_t, 16> incarnation_id{};
    std::optional<int64_t> last_timestamp_ms;
    bool abandon = false;
    SteadyTime arrived;
    WaitingCall* first = nullptr;
    WaitingCall* last = nullptr;
    Group* lane_next = nullptr;
    Group* lease_next = nullptr;  // the next group of the same lease, of any kind
  };

  struct Lane {
    Namespace* name_space = nullptr;
    int worker = 0;
    CallKind kind = CallKind::kRenew;
    Group* first = nullptr;  // ready groups
    Group* last = nullptr;
    size_t calls = 0;   // with those of groups that are not ready
    size_t groups = 0;  // likewise
    Lane* ring_next = nullptr;
    bool in_ring = false;
    SteadyTime turn_since;
  };

  struct Namespace {
    std::string name;
    uint64_t hash = 0;
    size_t groups = 0;
    std::vector<Lane> lanes;
  };

  // The lanes of one worker and kind that have a ready group, next turn first.
  struct Ring {
    Lane* first = nullptr;
    Lane* last = nullptr;
    size_t lanes = 0;
  };

  // Keeps its objects, so that a call at work costs no allocation.
  template <typename T>
  class Pool {
   public:
    T* Take();
    void Give(T* object) { free_.push_back(object); }

   private:
    std::deque<T> objects_;
    std::vector<T*> free_;
  };

  struct Name {
    std::string_view name;
    uint64_t hash;
    friend bool operator==(const Name& a, const Name& b) { return a.name == b.name; }
  };
  struct NameHash {
    size_t operator()(const Name& name) const { return name.hash; }
  };
  using LeaseId = std::pair<const Namespace*, uint32_t>;
  using ClaimId = std::pair<const Namespace*, std::array<uint8_t, 16>>;

  uint64_t HashOf(std::string_view name) const;
  Group* FindSame(CallKind kind, const CallKey& key, const Namespace* name_space) const;
  const Ring& RingOf(int worker, CallKind kind) const {
    return rings_[worker * kCallKinds + static_cast<int>(kind)];
  }
  Ring& RingOf(const Lane& lane) {
    return rings_[lane.worker * kCallKinds + static_cast<int>(lane.kind)];
  }

  Namespace* NewNamespace(std::string_view name, uint64_t hash);
  Group* NewGroup(const Place& place, const CallArrived& call, SteadyTime now);
  void EnterIndex(Group* group, SteadyTime now);
  void MakeReady(Group* group, bool first, SteadyTime now);
  void JoinRing(Lane* lane, SteadyTime turn_since);
  Lane* LeaveRing(Ring* ring);
  Group* PopReady(Lane* lane);
  void Forget(Group* group, WaitingCall* call);
  void MoveCalls(Group* group, SteadyTime now, Batch* batch, std::vector<CallId>* expired);
  void DropExpiredCalls(Group* group, SteadyTime now, std::vector<CallId>* expired);
  void TakeOutEmpty(Ring* ring);
  void Retire(Group* group, SteadyTime now);
  void Recycle(Group* group);

  const int workers_;
  const uint64_t seed_;
  size_t size_ = 0;
  size_t lanes_ = 0;
  std::vector<size_t> size_by_worker_;
  std::vector<Ring> rings_;
  absl::flat_hash_map<Name, Namespace*, NameHash> namespaces_;
  absl::flat_hash_map<LeaseId, Group*> youngest_of_lease_;
  absl::flat_hash_map<ClaimId, Group*> claims_;
  Pool<WaitingCall> call_pool_;
  Pool<Group> group_pool_;
  Pool<Namespace> namespace_pool_;
  std::vector<Group*> taken_;  // scratch
};

}  // namespace snowlease::service
