import type { Reporter, TestModule } from "vitest/node";

/** Prints `N passed, N failed` alone on the last line, for whoever reads the run by a program. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0;
    let failed = unhandledErrors.length;
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      passed += tests.filter((test) => test.result().state === "passed").length;
      // A test that did not end, and a file that did not load, have not passed.
      failed += tests.filter((test) => test.result().state !== "passed").length;
      if (tests.length === 0 || module.errors().length > 0) failed += Math.max(1, module.errors().length);
    }
    process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
  }
}
