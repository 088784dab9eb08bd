"""A database that is killed, stopped and comes back under load, with each store: the service outlasts it."""

import time
import unittest

from ha_case import HaCase, seconds_since
from ha_databases import MariaNode, PostgresNode, mysql_url, postgres_url
from snowlease_e2e import eventually


class HaRestartTest(HaCase):
    def outlasts(self, node, url):
        """Killed and restarted at once, twice; then away for 5 s, longer than any call waits."""
        service = self.service(url)
        start = time.monotonic()
        load = self.load()
        self.await_calls(load, 300)
        for _ in range(2):
            node.kill()
            begin = time.monotonic()
            node.start()
            self.await_recovery(load, begin, "killed and started again")
            self.await_calls(load, 300)
        self.await_ready()
        looks = len(service.watch.ready)
        node.kill()
        down = time.monotonic()
        eventually(lambda: service.readiness()[0] == 503, 10, "a server that is not ready")
        time.sleep(max(0, down + 5 - time.monotonic()))
        self.assertIsNone(load.first_after(down + 0.5), "acknowledged without a database")
        self.assertIn(503, {status for _, status in service.watch.ready[looks:]})
        back = time.monotonic()
        node.start()
        answers = time.monotonic()
        self.await_recovery(load, back, f"started after 5 s, itself ready after {answers - back:.2f} s,")
        self.await_ready()
        self.say(f"ready again at most {time.monotonic() - answers:.2f} s after the database")
        self.await_calls(load, 300)
        self.assert_told(load)
        self.finish(load, seconds_since(start))

    def test_service_outlasts_postgres(self):
        node = self.node(PostgresNode(self.folder, "a")).create().start()
        self.outlasts(node, postgres_url(node))

    def test_service_outlasts_mariadb(self):
        node = self.node(MariaNode(self.folder, "a")).create().start()
        node.make_user()
        self.outlasts(node, mysql_url(node))


if __name__ == "__main__":
    unittest.main()
