#include "tests/storage/grant_history.h"

#include <algorithm>
#include <limits>
#include <map>

namespace snowlease::testing {
namespace {

using storage::ClientTime;
using Kind = HistoryEvent::Kind;

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

struct GrantCalls {
  const HistoryEvent* claim = nullptr;
  std::vector<const HistoryEvent*> uses;  // repeated claims as well
  std::vector<const HistoryEvent*> releases;
  std::vector<const HistoryEvent*> forces;
  std::vector<const HistoryEvent*> lost;
  std::vector<const HistoryEvent*> issues;
};

class Checker {
 public:
  explicit Checker(std::span<const HistoryEvent> history) {
    for (const HistoryEvent& event : history) Sort(event);
  }

  std::vector<std::string> Run() {
    for (const auto& [machine_id, grants] : machines_) {
      machine_id_ = machine_id;
      CheckTokens(grants);
      CheckOrder(grants);
      CheckWindows(grants);
      for (const auto& [token, grant] : grants) CheckMonotony(token, grant);
    }
    return std::move(contradictions_);
  }

 private:
  using Grants = std::map<uint64_t, GrantCalls>;

  void Sort(const HistoryEvent& event) {
    machine_id_ = event.machine_id;
    GrantCalls& grant = machines_[event.machine_id][event.token];
    switch (event.kind) {
      case Kind::kClaim:
        SortClaim(event, grant);
        break;
      case Kind::kUse:
        grant.uses.push_back(&event);
        break;
      case Kind::kRelease:
        grant.releases.push_back(&event);
        break;
      case Kind::kForce:
        grant.forces.push_back(&event);
        break;
      case Kind::kLost:
        grant.lost.push_back(&event);
        break;
      case Kind::kIssue:
        grant.issues.push_back(&event);
        break;
    }
  }

  void SortClaim(const HistoryEvent& event, GrantCalls& grant) {
    claims_[event.instance].push_back(&event);
    if (grant.claim == nullptr) {
      grant.claim = &event;
    } else if (grant.claim->incarnation == event.incarnation) {
      const bool earlier = event.start < grant.claim->start;
      grant.uses.push_back(earlier ? grant.claim : &event);
      if (earlier) grant.claim = &event;
    } else {
      Report(event.token, "granted twice");
    }
  }

  void Report(uint64_t token, const std::string& what) {
    contradictions_.push_back("machine id " + std::to_string(machine_id_) + ", token " +
                              std::to_string(token) + ": " + what);
  }

  void CheckTokens(const Grants& grants) {
    uint64_t expected = 1;
    for (const auto& [token, grant] : grants) {
      if (grant.claim == nullptr) Report(token, "in use without having been granted");
      if (token != expected) Report(token, "follows token " + std::to_string(expected - 1));
      expected = token + 1;
    }
  }

  // Chooses for each grant the earliest moments of its begin and end that its calls
  // allow: if those contradict a later call, all others do.
  void CheckOrder(const Grants& grants) {
    int64_t now = 0;
    for (auto it = grants.begin(); it != grants.end(); ++it) {
      const auto& [token, grant] = *it;
      if (grant.claim == nullptr) continue;
      const auto next = std::next(it);
      const GrantCalls* successor = next == grants.end() ? nullptr : &next->second;
      const int64_t begin = std::max(grant.claim->start, now);
      int64_t latest_begin = grant.claim->end;
      for (const HistoryEvent* use : grant.uses) latest_begin = std::min(latest_begin, use->end);
      if (begin > latest_begin) Report(token, "granted later than it was used or answered");
      now = EndOf(token, grant, successor, begin);
    }
  }

  int64_t EndOf(uint64_t token, const GrantCalls& grant, const GrantCalls* successor,
                int64_t begin) {
    int64_t earliest = begin;
    for (const HistoryEvent* use : grant.uses) earliest = std::max(earliest, use->start);
    std::vector<const HistoryEvent*> enders = grant.releases;
    enders.insert(enders.end(), grant.forces.begin(), grant.forces.end());
    if (successor != nullptr && successor->claim != nullptr) enders.push_back(successor->claim);
    int64_t latest = kForever;
    for (const auto& calls : {enders, grant.lost}) {
      for (const HistoryEvent* call : calls) latest = std::min(latest, call->end);
    }
    for (const HistoryEvent* claim : claims_[grant.claim->instance]) {
      if (claim->machine_id == machine_id_ && claim->token == token) continue;
      enders.push_back(claim);
      // Claims of one instance that do not overlap: the later one ended this grant.
      if (claim->start > grant.claim->end) latest = std::min(latest, claim->end);
    }
    if (latest == kForever) return earliest;

    int64_t end = kForever;
    for (const HistoryEvent* ender : enders) {
      const int64_t at = std::max(earliest, ender->start);
      if (at <= ender->end) end = std::min(end, at);
    }
    if (end == kForever) {
      Report(token, "lost or granted anew although nothing ended it");
      return earliest;
    }
    if (end > latest) Report(token, "still in use after it had ended");
    return std::min(end, latest);
  }

  void CheckMonotony(uint64_t token, const GrantCalls& grant) {
    if (grant.claim == nullptr) return;
    std::vector<const HistoryEvent*> uses = grant.uses;
    uses.push_back(grant.claim);
    for (const HistoryEvent* before : uses) {
      for (const HistoryEvent* after : uses) {
        if (before->end >= after->start) continue;
        if (after->watermark < before->watermark) Report(token, "the watermark went down");
        if (after->window_end < before->window_end) Report(token, "the window end went down");
        const ClientTime reported = std::min(before->timestamp, before->window_end);
        if (after->watermark < reported) Report(token, "a reported timestamp was forgotten");
      }
    }
  }

  void CheckWindows(const Grants& grants) {
    ClientTime taken{0};
    for (const auto& [token, grant] : grants) {
      if (grant.claim == nullptr) continue;
      if (grant.claim->floor < taken) {
        Report(token, "starts at " + std::to_string(grant.claim->floor.ms) +
                          ", inside what was taken up to " + std::to_string(taken.ms));
      }
      ClientTime window_end = grant.claim->window_end;
      ClientTime watermark = grant.claim->watermark;
      for (const HistoryEvent* use : grant.uses) {
        window_end = std::max(window_end, use->window_end);
        watermark = std::max(watermark, use->watermark);
      }
      taken = std::max(taken, watermark);
      for (const HistoryEvent* issue : grant.issues) {
        taken = std::max(taken, issue->timestamp);
        if (issue->timestamp <= grant.claim->floor || issue->timestamp > window_end) {
          Report(token, "an id was issued outside the window");
        }
      }
      if (!MayHaveEndedCleanly(grant, grants, token)) taken = std::max(taken, window_end);
    }
  }

  static bool MayHaveEndedCleanly(const GrantCalls& grant, const Grants& grants, uint64_t token) {
    for (const HistoryEvent* release : grant.releases) {
      if (release->clean) return true;
    }
    const auto next = grants.find(token + 1);
    return next != grants.end() && next->second.claim != nullptr &&
           next->second.claim->with_proof && next->second.claim->instance == grant.claim->instance;
  }

  uint32_t machine_id_ = 0;
  std::map<uint32_t, Grants> machines_;
  std::map<std::string, std::vector<const HistoryEvent*>> claims_;
  std::vector<std::string> contradictions_;
};

}  // namespace

std::vector<std::string> FindContradictions(std::span<const HistoryEvent> history) {
  return Checker(history).Run();
}

}  // namespace snowlease::testing
