#include "service/batching/waiting_calls.h"

#include <algorithm>
#include <utility>

namespace snowlease::service {
namespace {

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

template <typename T>
T* WaitingCalls::Pool<T>::Take() {
  if (free_.empty()) return &objects_.emplace_back();
  T* object = free_.back();
  free_.pop_back();
  return object;
}

WaitingCalls::WaitingCalls(int workers, uint64_t seed)
    : workers_(workers),
      seed_(seed),
      size_by_worker_(workers),
      rings_(static_cast<size_t>(workers) * kCallKinds) {}

// Not absl::Hash: that differs from run to run, and the hash chooses the worker.
uint64_t WaitingCalls::HashOf(std::string_view name) const {
  uint64_t hash = 0xcbf29ce484222325ULL ^ Mix(seed_);
  for (const unsigned char c : name) hash = (hash ^ c) * 0x100000001b3ULL;
  return Mix(hash);
}

WaitingCalls::Place WaitingCalls::Find(CallKind kind, const CallKey& key) const {
  Place place;
  place.name_hash = HashOf(key.name_space);
  if (workers_ > 1) {
    const uint64_t pin =
        kind == CallKind::kClaim ? place.name_hash : Mix(place.name_hash + key.machine_id + 1);
    place.worker = static_cast<int>(pin % static_cast<uint64_t>(workers_));
  }
  const auto found = namespaces_.find(Name{key.name_space, place.name_hash});
  if (found == namespaces_.end()) return place;
  place.name_space = found->second;
  place.same = FindSame(kind, key, place.name_space);
  return place;
}

// Only the youngest group of a lease may be joined: joining an older one would carry
// the call past what came in between.
WaitingCalls::Group* WaitingCalls::FindSame(CallKind kind, const CallKey& key,
                                            const Namespace* name_space) const {
  if (kind == CallKind::kClaim) {
    const auto found = claims_.find(ClaimId{name_space, key.incarnation_id});
    if (found == claims_.end() || found->second->instance_id != key.instance_id) return nullptr;
    return found->second;
  }
  const auto found = youngest_of_lease_.find(LeaseId{name_space, key.machine_id});
  if (found == youngest_of_lease_.end()) return nullptr;
  Group* group = found->second;
  if (group->kind != kind || group->token != key.token || group->instance_id != key.instance_id) {
    return nullptr;
  }
  if (kind == CallKind::kRelease &&
      (group->last_timestamp_ms != key.last_timestamp_ms || group->abandon != key.abandon)) {
    return nullptr;
  }
  return group;
}

WaitingCalls::LaneLoad WaitingCalls::LoadOf(const Place& place, CallKind kind) const {
  LaneLoad load;
  const Ring& ring = RingOf(place.worker, kind);
  if (ring.first != nullptr) load.waiting_since = ring.first->turn_since;
  if (place.name_space == nullptr) return load;
  const Lane& lane = place.name_space->lanes[place.worker * kCallKinds + static_cast<int>(kind)];
  load.calls = lane.calls;
  load.groups = lane.groups;
  if (lane.first != nullptr) load.waiting_since = std::min(load.waiting_since, lane.first->arrived);
  return load;
}

void WaitingCalls::Add(const Place& place, const CallArrived& call, SteadyTime now) {
  Group* group = place.same != nullptr ? place.same : NewGroup(place, call, now);
  WaitingCall* waiting = call_pool_.Take();
  *waiting = {call.call, call.deadline, nullptr};
  (group->first == nullptr ? group->first : group->last->next) = waiting;
  group->last = waiting;
  ++group->lane->calls;
  ++size_;
  ++size_by_worker_[place.worker];
}

WaitingCalls::Namespace* WaitingCalls::NewNamespace(std::string_view name, uint64_t hash) {
  Namespace* name_space = namespace_pool_.Take();
  name_space->name.assign(name);
  name_space->hash = hash;
  if (name_space->lanes.empty()) {
    name_space->lanes.resize(rings_.size());
    for (size_t i = 0; i < rings_.size(); ++i) {
      Lane& lane = name_space->lanes[i];
      lane.name_space = name_space;
      lane.worker = static_cast<int>(i / kCallKinds);
      lane.kind = static_cast<CallKind>(i % kCallKinds);
    }
  }
  namespaces_.emplace(Name{name_space->name, hash}, name_space);
  return name_space;
}

WaitingCalls::Group* WaitingCalls::NewGroup(const Place& place, const CallArrived& call,
                                            SteadyTime now) {
  Namespace* name_space = place.name_space != nullptr
                              ? place.name_space
                              : NewNamespace(call.key.name_space, place.name_hash);
  Group* group = group_pool_.Take();
  group->kind = call.kind;
  group->lane = &name_space->lanes[place.worker * kCallKinds + static_cast<int>(call.kind)];
  group->instance_id.assign(call.key.instance_id);
  group->machine_id = call.key.machine_id;
  group->token = call.key.token;
  group->incarnation_id = call.key.incarnation_id;
  group->last_timestamp_ms = call.key.last_timestamp_ms;
  group->abandon = call.key.abandon;
  group->arrived = now;
  group->first = group->last = nullptr;
  group->lane_next = group->lease_next = nullptr;
  ++name_space->groups;
  if (group->lane->groups++ == 0) ++lanes_;
  EnterIndex(group, now);
  return group;
}

void WaitingCalls::EnterIndex(Group* group, SteadyTime now) {
  const Namespace* name_space = group->lane->name_space;
  if (group->kind == CallKind::kClaim) {
    claims_.try_emplace(ClaimId{name_space, group->incarnation_id}, group);
    MakeReady(group, false, now);
    return;
  }
  const auto [entry, fresh] =
      youngest_of_lease_.try_emplace(LeaseId{name_space, group->machine_id}, group);
  if (fresh) {
    MakeReady(group, false, now);
  } else {
    entry->second->lease_next = group;
    entry->second = group;
  }
}

void WaitingCalls::MakeReady(Group* group, bool first, SteadyTime now) {
  Lane* lane = group->lane;
  if (lane->first == nullptr) {
    lane->first = lane->last = group;
  } else if (first) {
    group->lane_next = lane->first;
    lane->first = group;
  } else {
    lane->last->lane_next = group;
    lane->last = group;
  }
  if (!lane->in_ring) JoinRing(lane, now);
}

void WaitingCalls::JoinRing(Lane* lane, SteadyTime turn_since) {
  Ring& ring = RingOf(*lane);
  (ring.first == nullptr ? ring.first : ring.last->ring_next) = lane;
  ring.last = lane;
  ++ring.lanes;
  lane->ring_next = nullptr;
  lane->in_ring = true;
  lane->turn_since = turn_since;
}

WaitingCalls::Lane* WaitingCalls::LeaveRing(Ring* ring) {
  Lane* lane = ring->first;
  ring->first = lane->ring_next;
  --ring->lanes;
  lane->in_ring = false;
  return lane;
}

WaitingCalls::Group* WaitingCalls::PopReady(Lane* lane) {
  Group* group = lane->first;
  lane->first = group->lane_next;
  group->lane_next = nullptr;
  return group;
}

void WaitingCalls::Take(int worker, CallKind kind, size_t max_groups, SteadyTime now, Batch* batch,
                        std::vector<CallId>* expired) {
  Ring& ring = rings_[worker * kCallKinds + static_cast<int>(kind)];
  // As even as one call at a time would be, but a namespace's elements stand together.
  const size_t quantum = std::max<size_t>(1, max_groups / std::max<size_t>(1, ring.lanes));
  taken_.clear();
  while (ring.first != nullptr && batch->group_ends.size() < max_groups) {
    Lane* lane = LeaveRing(&ring);
    const size_t stop = std::min(max_groups, batch->group_ends.size() + quantum);
    while (lane->first != nullptr && batch->group_ends.size() < stop) {
      Group* group = PopReady(lane);
      MoveCalls(group, now, batch, expired);
      taken_.push_back(group);
    }
    if (lane->first != nullptr) JoinRing(lane, now);
  }
  // Only now, so that the next call of a lease is never in the same batch.
  for (Group* group : taken_) Retire(group, now);
}

void WaitingCalls::Forget(Group* group, WaitingCall* call) {
  --group->lane->calls;
  --size_;
  --size_by_worker_[group->lane->worker];
  call_pool_.Give(call);
}

void WaitingCalls::MoveCalls(Group* group, SteadyTime now, Batch* batch,
                             std::vector<CallId>* expired) {
  const size_t before = batch->calls.size();
  for (WaitingCall* call = group->first; call != nullptr;) {
    WaitingCall* next = call->next;
    if (call->deadline <= now) {
      expired->push_back(call->id);
    } else {
      batch->calls.push_back(call->id);
      batch->deadline = std::max(batch->deadline, call->deadline);
    }
    Forget(group, call);
    call = next;
  }
  group->first = group->last = nullptr;
  if (batch->calls.size() > before) {
    batch->group_ends.push_back(static_cast<uint32_t>(batch->calls.size()));
  }
}

void WaitingCalls::DropExpiredCalls(Group* group, SteadyTime now, std::vector<CallId>* expired) {
  WaitingCall* call = std::exchange(group->first, nullptr);
  group->last = nullptr;
  while (call != nullptr) {
    WaitingCall* next = std::exchange(call->next, nullptr);
    if (call->deadline <= now) {
      expired->push_back(call->id);
      Forget(group, call);
    } else {
      (group->first == nullptr ? group->first : group->last->next) = call;
      group->last = call;
    }
    call = next;
  }
}

void WaitingCalls::DropExpired(SteadyTime now, std::vector<CallId>* expired) {
  for (const Ring& ring : rings_) {
    for (Lane* lane = ring.first; lane != nullptr; lane = lane->ring_next) {
      for (Group* ready = lane->first; ready != nullptr; ready = ready->lane_next) {
        for (Group* group = ready; group != nullptr; group = group->lease_next) {
          DropExpiredCalls(group, now, expired);
        }
      }
    }
  }
  taken_.clear();
  for (Ring& ring : rings_) TakeOutEmpty(&ring);
  for (Group* group : taken_) Retire(group, now);
}

void WaitingCalls::TakeOutEmpty(Ring* ring) {
  for (size_t lanes = ring->lanes; lanes > 0; --lanes) {
    Lane* lane = LeaveRing(ring);
    Group* group = std::exchange(lane->first, nullptr);
    while (group != nullptr) {
      Group* next = std::exchange(group->lane_next, nullptr);
      if (group->first == nullptr) {
        taken_.push_back(group);
      } else {
        (lane->first == nullptr ? lane->first : lane->last->lane_next) = group;
        lane->last = group;
      }
      group = next;
    }
    if (lane->first != nullptr) JoinRing(lane, lane->turn_since);
  }
}

void WaitingCalls::Retire(Group* group, SteadyTime now) {
  const Namespace* name_space = group->lane->name_space;
  if (group->kind == CallKind::kClaim) {
    const auto found = claims_.find(ClaimId{name_space, group->incarnation_id});
    if (found != claims_.end() && found->second == group) claims_.erase(found);
    Recycle(group);
    return;
  }
  const LeaseId lease{name_space, group->machine_id};
  Group* next = group->lease_next;
  while (next != nullptr && next->first == nullptr) {
    Group* after = next->lease_next;
    Recycle(next);
    next = after;
  }
  if (next == nullptr) {
    youngest_of_lease_.erase(lease);
  } else {
    MakeReady(next, true, now);
  }
  Recycle(group);
}

void WaitingCalls::Recycle(Group* group) {
  Lane* lane = group->lane;
  Namespace* name_space = lane->name_space;
  if (--lane->groups == 0) --lanes_;
  group_pool_.Give(group);
  if (--name_space->groups > 0) return;
  namespaces_.erase(Name{name_space->name, name_space->hash});
  namespace_pool_.Give(name_space);
}

}  // namespace snowlease::service
