"""The checks find what they look for, and only that."""

import unittest

import clock_use
import dependencies
import field_reports
import honest_tests
import links
import portable_paths
import readme_example
import sizes
import source_tree


class SourceTreeTest(unittest.TestCase):
    def test_code_only_blanks_comments_and_literals_and_keeps_lines(self):
        code = source_tree.code_only('a("x{"); // {\n/* {\n */ b(\'{\'); R"(\n{)" 1\'000')
        self.assertNotIn("{", code)
        self.assertEqual(code.count("\n"), 3)
        self.assertIn("1'000", code)


class ClockUseTest(unittest.TestCase):
    def test_finds_direct_clocks_and_sleeps(self):
        for text in ("auto t = absl::Now();", "std::chrono::steady_clock::now()", "usleep(1);", "::sleep(1)",
                     "std::this_thread::sleep_for(x);", "time(nullptr)", "cv.wait_for(lock, x)"):
            self.assertTrue(clock_use.problems_in("service/rpc/a.cc", text), text)

    def test_leaves_comments_own_words_and_the_clock_itself_alone(self):
        for path, text in (("service/a.cc", "// absl::Now"), ("service/a.cc", "clock->Now(); x.sleep(); max_time(0)"),
                           ("storage/clock.cc", "steady_clock::now()"), ("storage/a_test.cc", "absl::Now()")):
            self.assertEqual(clock_use.problems_in(path, text), [])


class DependenciesTest(unittest.TestCase):
    def refused(self, path, included):
        return dependencies.reason_against(path, included) is not None

    def test_refuses_every_wrong_direction(self):
        for path, included in (
                ("storage/lease.h", "service/rpc/validation.h"), ("storage/lease.h", "storage/memory/a.h"),
                ("storage/sqlite/a.cc", "storage/memory/a.h"), ("storage/sqlite/a.cc", "storage/store_factory.h"),
                ("storage/lease.h", "snowlease/v1/machine_id.pb.h"), ("service/batching/a.cc", "grpcpp/grpcpp.h"),
                ("service/rpc/a.cc", "storage/sqlite/a.h"), ("service/rpc/a.cc", "sqlite3.h"),
                ("client/cpp/a.cc", "storage/lease.h"), ("client/cli/a.cc", "service/rpc/a.h"),
                ("service/rpc/a.cc", "client/cpp/a.h"), ("service/rpc/a.cc", "tests/testing/fake_clock.h"),
                ("service/batching/group_committer_core.h", "mutex"),
                ("service/batching/group_committer_core.cc", "spdlog/spdlog.h")):
            self.assertTrue(self.refused(path, included), f"{path} -> {included}")

    def test_allows_the_right_direction(self):
        for path, included in (
                ("storage/sqlite/a.cc", "storage/lease.h"), ("storage/sqlite/a.cc", "storage/sql/a.h"),
                ("storage/sqlite/a.cc", "sqlite3.h"), ("storage/store_factory.cc", "storage/memory/a.h"),
                ("service/server/a.cc", "storage/store_factory.h"), ("service/rpc/a.cc", "grpcpp/grpcpp.h"),
                ("service/rpc/a.cc", "service/batching/a.h"), ("client/cli/a.cc", "client/cpp/a.h"),
                ("client/cpp/a.cc", "snowlease/v1/machine_id.pb.h"), ("tests/e2e/a.cc", "service/server/a.h"),
                ("storage/sqlite/a_test.cc", "tests/testing/fake_clock.h"),
                ("service/batching/group_committer_core.h", "vector"),
                ("service/batching/group_committer.h", "mutex")):
            self.assertFalse(self.refused(path, included), f"{path} -> {included}")


class SizesTest(unittest.TestCase):
    BODY = "  f();\n" * 80

    def test_finds_long_functions(self):
        for head in ("int F(int a)", "void C::F() const", "TEST(A, B)", "  auto F() -> int", "C::C(int a)\n : a_(a)",
                     "namespace n {\nclass C {\n void F() noexcept override"):
            self.assertEqual(len(sizes.long_functions("a.cc", head + " {\n" + self.BODY + "}\n")), 1, head)

    def test_leaves_long_scopes_with_short_functions_alone(self):
        short = "int F(int a) {\n  if (a) {\n    return 1;\n  }\n  return 2;\n}\n" * 30
        self.assertEqual(sizes.long_functions("a.cc", "namespace n {\nclass C {\n" + short + "};\n}\n"), [])
        self.assertEqual(sizes.long_functions("a.cc", "const int t[] = {\n" + "  1,\n" * 90 + "};\n"), [])

    def test_counts_the_lines_of_a_function(self):
        text = "\n\nint F() {\n" + "  f();\n" * 68 + "}\n"
        self.assertEqual([(first, last) for first, last, _ in sizes.cpp_functions(text)], [(3, 72)])
        self.assertEqual(sizes.long_functions("a.cc", text), [])

    def test_finds_long_python_functions(self):
        self.assertEqual(len(sizes.long_functions("a.py", "def f():\n" + "    g()\n" * 80)), 1)


class TextChecksTest(unittest.TestCase):
    def test_machine_paths_and_registry_hosts(self):
        for text in ("see /" + "work/main", "https://" + "registry.example", "cd /" + "root/x"):
            self.assertTrue(portable_paths.problems_in("a.md", text), text)
        self.assertEqual(portable_paths.problems_in("a.md", "https://example.org/homework build/work"), [])

    def test_left_out_tests(self):
        for text in ("GTEST" + "_SKIP();", "TEST(A, DISABLED" + "_B)", "// TO" + "DO: later", "@unittest.s" + "kip"):
            self.assertTrue(honest_tests.problems_in("a.cc", text), text)
        self.assertEqual(honest_tests.problems_in("a.cc", "passed over; skipped numbers"), [])

    def test_links(self):
        texts = {"docs/a.md": "# One two\n[b](b.md) [c](#one-two) [x](https://x)\n```\n[z](z.md)\n```\n",
                 "docs/b.md": "[gone](c.md) [no](a.md#three)"}

        def found(path):
            return links.problems_in(path, texts[path], texts.__contains__, texts.__getitem__)

        self.assertEqual(found("docs/a.md"), [])
        self.assertEqual(len(found("docs/b.md")), 2)
        self.assertEqual(len(links.unlinked_adrs(["docs/adr/0001-a.md", "docs/adr/0002-b.md"], "adr/0001-a.md")), 1)

    def test_field_report_cases(self):
        self.assertEqual(field_reports.cases_in("// F21, M04: x\nTEST(A, F22LateRenew) TEST(A, SurvivesM12)"),
                         {"F21", "M04", "F22", "M12"})
        self.assertEqual(field_reports.cases_in("0xF21A UTF16 M001"), set())
        both = ["tests/storage/a.cc", "tests/e2e/b.py"]
        named = {case: both for case in field_reports.REQUIRED}
        self.assertEqual(field_reports.missing({**named, "F44": ["service/rpc/a_test.cc"]}), [])
        self.assertEqual(field_reports.missing({**named, "M21": both[:1], "F04": both[1:]}),
                         [("F04", "store"), ("M21", "service")])
        self.assertIn(("M12", "store"), field_reports.missing({}))

    def test_readme_example_takes_a_block_apart_and_compares_shapes(self):
        self.assertEqual(readme_example.commands_and_outputs("$ a \\\n  b\nx\ny\n$ c\n"), [("a \\\n  b", "x\ny"), ("c", "")])
        self.assertEqual(readme_example.shape("until 1760000000123  in 4m59s"), readme_example.shape("until 1760000009999 in 5m0s"))
        self.assertNotEqual(readme_example.shape("machine_id 0"), readme_example.shape("machine_id 1"))


if __name__ == "__main__":
    unittest.main()
