#include "tests/storage/grant_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace snowlease::testing {
namespace {

using storage::ClientTime;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = HistoryEvent::Kind;

HistoryEvent Event(Kind kind, const std::string& instance, uint64_t token, int64_t start,
                   int64_t end) {
  HistoryEvent event;
  event.kind = kind;
  event.instance = instance;
  event.incarnation[0] = static_cast<uint8_t>(token);
  event.token = token;
  event.start = start;
  event.end = end;
  event.window_end = ClientTime{static_cast<int64_t>(token) * 100};
  event.floor = event.window_end - storage::Millis(100);
  event.watermark = event.floor;
  event.timestamp = event.window_end;
  if (kind != Kind::kIssue) event.timestamp = ClientTime{0};
  return event;
}

// a is granted 1, renews, releases; b is granted 2, is taken over by c, hears LOST.
std::vector<HistoryEvent> GoodHistory() {
  return {Event(Kind::kClaim, "a", 1, 1, 2),   Event(Kind::kUse, "a", 1, 3, 4),
          Event(Kind::kRelease, "a", 1, 5, 8), Event(Kind::kClaim, "b", 2, 6, 9),
          Event(Kind::kUse, "b", 2, 10, 13),   Event(Kind::kClaim, "c", 3, 11, 14),
          Event(Kind::kLost, "b", 2, 15, 16),  Event(Kind::kIssue, "b", 2, 17, 17)};
}

TEST(GrantHistory, AcceptsCallsThatSomeOrderExplains) {
  EXPECT_THAT(FindContradictions(GoodHistory()), IsEmpty());
}

TEST(GrantHistory, AcceptsARepeatedClaimAndARepeatedRelease) {
  std::vector<HistoryEvent> history = GoodHistory();
  history.push_back(Event(Kind::kClaim, "a", 1, 3, 4));
  history.push_back(Event(Kind::kRelease, "a", 1, 9, 10));
  EXPECT_THAT(FindContradictions(history), IsEmpty());
}

TEST(GrantHistory, FindsATokenGrantedTwice) {
  std::vector<HistoryEvent> history = GoodHistory();
  HistoryEvent twice = Event(Kind::kClaim, "x", 2, 6, 9);
  twice.incarnation[1] = 1;
  history.push_back(twice);
  EXPECT_THAT(FindContradictions(history), Contains(HasSubstr("granted twice")));
}

TEST(GrantHistory, FindsAMissingToken) {
  std::vector<HistoryEvent> history = {Event(Kind::kClaim, "a", 1, 1, 2),
                                       Event(Kind::kClaim, "b", 3, 3, 4)};
  EXPECT_THAT(FindContradictions(history), Contains(HasSubstr("follows token 1")));
}

TEST(GrantHistory, FindsAnUngrantedToken) {
  std::vector<HistoryEvent> history = GoodHistory();
  history.push_back(Event(Kind::kUse, "c", 4, 20, 21));
  EXPECT_THAT(FindContradictions(history), Contains(HasSubstr("without having been granted")));
}

TEST(GrantHistory, FindsARenewalThatSucceededAfterTheReleaseWasAnswered) {
  std::vector<HistoryEvent> history = GoodHistory();
  history.push_back(Event(Kind::kUse, "a", 1, 9, 10));
  EXPECT_THAT(FindContradictions(history), Not(IsEmpty()));
}

TEST(GrantHistory, FindsARenewalThatSucceededAfterTheTakeoverWasAnswered) {
  std::vector<HistoryEvent> history = GoodHistory();
  history.push_back(Event(Kind::kUse, "b", 2, 15, 16));
  EXPECT_THAT(FindContradictions(history), Not(IsEmpty()));
}

TEST(GrantHistory, FindsTwoHoldersWhoseRenewalsCross) {
  // Both renewals overlap both claims' ends, but b's starts only after c's was answered.
  std::vector<HistoryEvent> history = {
      Event(Kind::kClaim, "b", 1, 1, 2), Event(Kind::kClaim, "c", 2, 3, 10),
      Event(Kind::kUse, "c", 2, 4, 5), Event(Kind::kUse, "b", 1, 6, 7)};
  EXPECT_THAT(FindContradictions(history), Not(IsEmpty()));
}

TEST(GrantHistory, FindsTokensGrantedAgainstTheOrderOfTime) {
  std::vector<HistoryEvent> history = {Event(Kind::kClaim, "a", 1, 5, 6),
                                       Event(Kind::kClaim, "b", 2, 1, 2)};
  EXPECT_THAT(FindContradictions(history), Not(IsEmpty()));
}

TEST(GrantHistory, FindsALossThatNothingExplains) {
  std::vector<HistoryEvent> history = {Event(Kind::kClaim, "a", 1, 1, 2),
                                       Event(Kind::kLost, "a", 1, 3, 4)};
  EXPECT_THAT(FindContradictions(history), Contains(HasSubstr("nothing ended it")));
  // A takeover that started only afterwards explains nothing either.
  history.push_back(Event(Kind::kClaim, "b", 2, 5, 6));
  EXPECT_THAT(FindContradictions(history), Not(IsEmpty()));
}

TEST(GrantHistory, FindsAnOldGrantThatOutlivesItsInstancesNextClaim) {
  std::vector<HistoryEvent> history = {Event(Kind::kClaim, "a", 1, 1, 2)};
  HistoryEvent elsewhere = Event(Kind::kClaim, "a", 1, 3, 4);
  elsewhere.machine_id = 7;
  elsewhere.incarnation[1] = 1;
  history.push_back(elsewhere);
  EXPECT_THAT(FindContradictions(history), IsEmpty());
  history.push_back(Event(Kind::kUse, "a", 1, 5, 6));
  EXPECT_THAT(FindContradictions(history), Not(IsEmpty()));
}

TEST(GrantHistory, FindsAWindowThatStartsInsideAnUncleanOne) {
  std::vector<HistoryEvent> history = GoodHistory();
  history[5].floor = ClientTime{199};
  EXPECT_THAT(FindContradictions(history), Contains(HasSubstr("inside what was taken")));
}

TEST(GrantHistory, FindsAWindowThatStartsBelowAnIssuedIdAfterACleanEnd) {
  std::vector<HistoryEvent> history = GoodHistory();
  history[2].clean = true;
  history[3].floor = ClientTime{50};
  EXPECT_THAT(FindContradictions(history), IsEmpty()) << "nothing was issued above 50";
  HistoryEvent issue = Event(Kind::kIssue, "a", 1, 4, 4);
  issue.timestamp = ClientTime{51};
  history.push_back(issue);
  EXPECT_THAT(FindContradictions(history), Contains(HasSubstr("inside what was taken")));
}

TEST(GrantHistory, FindsAnIdOutsideItsWindow) {
  std::vector<HistoryEvent> history = GoodHistory();
  history[7].timestamp = ClientTime{201};
  EXPECT_THAT(FindContradictions(history), Contains(HasSubstr("outside the window")));
}

TEST(GrantHistory, FindsAWatermarkOrWindowThatWentDown) {
  std::vector<HistoryEvent> history = GoodHistory();
  history[1].watermark = ClientTime{-1};
  EXPECT_THAT(FindContradictions(history), Contains(HasSubstr("watermark went down")));
  history = GoodHistory();
  history[1].window_end = ClientTime{99};
  EXPECT_THAT(FindContradictions(history), Contains(HasSubstr("window end went down")));
}

TEST(GrantHistory, FindsAReportThatWasForgotten) {
  std::vector<HistoryEvent> history = GoodHistory();
  history[1].timestamp = ClientTime{70};
  history[1].watermark = ClientTime{70};
  history[3].floor = ClientTime{100};
  HistoryEvent later = Event(Kind::kUse, "a", 1, 5, 6);
  later.watermark = ClientTime{69};
  history.push_back(later);
  EXPECT_THAT(FindContradictions(history), Contains(HasSubstr("forgotten")));
}

}  // namespace
}  // namespace snowlease::testing
