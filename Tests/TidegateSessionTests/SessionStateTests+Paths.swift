import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

extension SessionStateTests {
    private static let get = Step.make("http://192.0.2.1/a")
    private static let post = Step.make("http://192.0.2.1/a") { $0.body = .data([1]) }

    private static let twoConnections = {
        var configuration = SessionConfiguration()
        (configuration.maxConnections, configuration.maxConnectionsPerHost) = (2, 2)
        return configuration
    }()

    // MARK: - Paths

    private static let moved = ScriptedPathSource.routed(over: "eth1", index: 7)

    static let paths: [Row] = [
        Row(
            rule: "an attempt leaves a path that has moved, and the next one has a pool of its own",
            given: [get, .resume, .wire(1)], when: .verdict(moved),
            then: [
                "discard 1.1", "1: attemptFailed(stalled, free)", "1: gate(immediate)", "1: attemptStarted(2)",
                "beginPool", "forgetNames", "session: poolReplaced", "launch 1.2 GET http://192.0.2.1/a",
            ]),
        Row(
            rule: "where two attempts leave a path and a third task waits, each has its turn",
            configuration: twoConnections, given: [get, get, get, .resume, .resumeTask(2), .resumeTask(3)],
            when: .verdict(moved),
            then: [
                "1: attemptFailed(stalled, free)", "1: gate(immediate)", "2: attemptFailed(stalled, free)",
                "2: gate(immediate)", "3: released(concurrency)", "1: held(concurrency)", "1: released(concurrency)",
                "2: held(concurrency)", "3: attemptStarted(1)", "session: poolReplaced", "1: attemptStarted(2)",
                "discard 1.1", "discard 2.1", "beginPool", "forgetNames", "launch 3.1 GET http://192.0.2.1/a",
                "launch 1.2 GET http://192.0.2.1/a",
            ]),
        Row(
            rule: "a POST that may have arrived is not sent again over another path",
            given: [post, .resume, .wire(1)], when: .verdict(moved),
            then: ["discard 1.1", "1: attemptFailed(outcomeUnknown)", "end 1 (failure)"]),
        Row(
            rule: "a POST that was not sent yet is",
            given: [post, .resume], when: .verdict(moved),
            then: [
                "discard 1.1", "1: attemptFailed(stalled, free)", "1: gate(immediate)", "1: attemptStarted(2)",
                "beginPool", "forgetNames", "session: poolReplaced", "launch 1.2 POST http://192.0.2.1/a",
            ]),
        Row(
            rule: "a path that is down has its grace",
            given: [get, .resume, .wire(1)], when: .verdict(ScriptedPathSource.lost()), then: []),
        Row(
            rule: "after the grace the attempt ends and its task waits",
            given: [get, .resume, .wire(1), .verdict(ScriptedPathSource.lost())], when: .after(.seconds(3)),
            then: ["discard 1.1", "1: attemptFailed(stalled, free)", "1: held(path)"]),
        Row(
            rule: "without a connection there is no grace",
            given: [get, .resume], when: .verdict(ScriptedPathSource.lost()),
            then: ["discard 1.1", "1: attemptFailed(stalled, free)", "1: held(path)"]),
        Row(
            rule: "a connection that is silent after the path is back is given up",
            given: [
                get, .resume, .wire(1), .verdict(ScriptedPathSource.lost()), .verdict(ScriptedPathSource.routed()),
            ], when: .after(.seconds(1)),
            then: [
                "discard 1.1", "1: attemptFailed(stalled, free)", "1: gate(immediate)", "1: attemptStarted(2)",
                "beginPool", "forgetNames", "session: poolReplaced", "launch 1.2 GET http://192.0.2.1/a",
            ]),
    ]
}
