"""Three Galera nodes, two services on two of them: one node dies and comes back, nothing is lost or doubled."""

import time
import unittest

from ha_case import HaCase, seconds_since
from ha_databases import MariaNode, mysql_url


class HaGaleraTest(HaCase):
    def cluster(self):
        nodes = [self.node(MariaNode(self.folder, name, galera=True)) for name in "abc"]
        nodes[0].create().start()
        nodes[0].make_user()
        for node in nodes[1:]:
            node.start(cluster=nodes)
        self.assertEqual(nodes[0].status("wsrep_cluster_size"), "3")
        return nodes

    def test_node_is_killed_under_load_and_rejoins(self):
        a, b, c = nodes = self.cluster()
        # One after the other: the lock of a migration does not reach other nodes.
        first = self.service(mysql_url(a, c))
        second = self.service(mysql_url(b, c))
        start = time.monotonic()
        load = self.load(threads=4)
        self.answers_are_seen_by_the_other_service(first, second)
        self.await_calls(load, 300)
        self.assert_no_lost_certification(load.messages)
        a.kill()
        killed = time.monotonic()
        # Until the others have agreed that it is gone, none of them commits.
        time.sleep(1)
        self.await_recovery(load, time.monotonic(), "node killed, one second later")
        self.say(f"longest time without an answer {load.longest_gap(killed, time.monotonic()):.2f} s")
        self.await_calls(load, 300)
        self.await_ready()
        self.assertEqual(b.status("wsrep_cluster_size"), "2")
        # What waited for the dead node until its own deadline may have been told so.
        told = len(load.messages)

        begin = time.monotonic()
        a.start(cluster=nodes)
        self.say(f"node rejoined after {time.monotonic() - begin:.2f} s; meanwhile at most "
                 f"{load.longest_gap(begin, time.monotonic()):.2f} s without an answer")
        self.assertEqual(b.status("wsrep_cluster_size"), "3")
        self.await_calls(load, 300)
        failures = [int(node.status(name)) for node in (b, c)
                    for name in ("wsrep_local_cert_failures", "wsrep_local_bf_aborts")]
        self.say(f"lost certifications and aborts on the nodes that stayed: {failures}")
        self.assertGreater(sum(failures), 0, "the two services never met")
        self.finish(load, seconds_since(start))
        self.assert_no_lost_certification(load.messages[told:])
        self.assertEqual(a.sql("SELECT COUNT(*), SUM(token) FROM snowlease.snowlease_lease"),
                         c.sql("SELECT COUNT(*), SUM(token) FROM snowlease.snowlease_lease"))

    def assert_no_lost_certification(self, messages):
        """What a batch loses to the other node is repeated by the store."""
        self.assertEqual([text for text in list(messages) if "1213" in text], [])

    def answers_are_seen_by_the_other_service(self, first, second):
        """A lease that one service granted is never LOST at the other, however far that one's node is behind."""
        for number in range(100):
            here, there = (first, second) if number % 2 else (second, first)
            lease = here.api.claim(namespace="hop", instance=f"i{number}")
            renewed = there.api.renew(lease)
            self.assertGreaterEqual(int(renewed["windowEndMs"]), int(lease["windowEndMs"]))
            here.api.release(renewed)


if __name__ == "__main__":
    unittest.main()
