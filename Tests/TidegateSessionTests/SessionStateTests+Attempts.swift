import TidegateCore
import TidegateTransfer

@testable import TidegateSession

extension SessionStateTests {
    private static let get = Step.make("http://192.0.2.1/a")
    private static let post = Step.make("http://192.0.2.1/a") { $0.body = .data([1]) }
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"

    // MARK: - Attempts under way

    static let attempts: [Row] = [
        Row(
            rule: "an attempt of a suspended task is paused",
            given: [get, .resume], when: .suspend, then: ["1: suspended", "pause 1.1"]),
        Row(
            rule: "it goes on when the task is resumed",
            given: [get, .resume, .suspend], when: .resume, then: ["1: resumed", "unpause 1.1"]),
        Row(
            rule: "an attempt that cannot be paused is ended",
            given: [get, .resume, .suspend], when: .notPaused(1),
            then: ["discard 1.1", "1: attemptFailed(cancelled, free)"]),
        Row(
            rule: "a POST that may have arrived stays paused however long",
            given: [post, .resume, .wire(1), .suspend], when: .after(.seconds(60)), then: []),
        Row(
            rule: "a GET gives its connection back after a while",
            given: [get, .resume, .wire(1), .suspend], when: .after(.seconds(6)),
            then: ["discard 1.1", "1: attemptFailed(cancelled, free)"]),
        Row(
            rule: "a pause that was overtaken by a resumption does nothing",
            given: [get, .resume, .suspend, .resume], when: .notPaused(1), then: []),
        Row(
            rule: "an attempt on which nothing moves is tried again later",
            given: [get, .resume, .wire(1)], when: .after(.seconds(61)),
            then: ["discard 1.1", "1: attemptFailed(timedOut)", "1: retryScheduled(timed_out)", "1: held(backoff)"]),
        Row(
            rule: "a redirect whose body does not come is followed by its head",
            given: [
                get, .resume, .wire(1),
                .head(1, "HTTP/1.1 307 Elsewhere\r\nLocation: /b\r\nContent-Length: 50\r\n"),
            ], when: .after(.seconds(2)),
            then: [
                "discard 1.1", "1: attemptSucceeded", "1: gate(immediate)", "1: attemptStarted(2)",
                "launch 1.2 GET http://192.0.2.1/b",
            ]),
        Row(
            rule: "an error whose body does not come is its status",
            given: [
                get, .resume, .wire(1), .head(1, "HTTP/1.1 404 Not Found\r\nContent-Length: 50\r\n"),
            ], when: .after(.seconds(61)),
            then: ["discard 1.1", "1: attemptFailed(httpStatus)", "end 1 (failure)"]),
        Row(
            rule: "an attempt that is too slow for its task's time is tried again",
            given: [
                .make("http://192.0.2.1/a") {
                    ($0.options.lowestBytesPerSecond, $0.options.slowTime) = (1000, .seconds(2))
                }, .resume, .wire(1), .head(1, ok), .after(.seconds(1)),
            ], when: .after(.seconds(1)),
            then: ["discard 1.1", "1: attemptFailed(stalled)", "1: retryScheduled(stalled)", "1: held(backoff)"]),
        Row(
            rule: "the wait for a response is not slow",
            given: [
                .make("http://192.0.2.1/a") {
                    ($0.options.lowestBytesPerSecond, $0.options.slowTime) = (1000, .seconds(2))
                }, .resume, .wire(1), .after(.seconds(1)),
            ], when: .after(.seconds(1)), then: []),
        Row(
            rule: "the head is published when it comes",
            given: [get, .resume, .wire(1)], when: .head(1, ok), then: ["1: responseHead(200)"]),
        Row(
            rule: "a report of an attempt that was ended does nothing",
            given: [get, .resume, .cancel], when: .head(1, ok), then: []),
    ]

    // MARK: - What follows from an attempt

    private static let succeeded = ["1: attemptSucceeded", "end 1 (success)"]

    static let answers: [Row] = [
        Row(
            rule: "a good answer is the task's end",
            given: [get, .resume, .wire(1)], when: .answered(1, ok), then: ["1: progress"] + succeeded),
        Row(
            rule: "a redirect is followed at once",
            given: [get, .resume, .wire(1)],
            when: .answered(1, "HTTP/1.1 302 Found\r\nLocation: /b\r\n"),
            then: [
                "1: attemptSucceeded", "1: gate(immediate)", "1: attemptStarted(2)",
                "launch 1.2 GET http://192.0.2.1/b",
            ]),
        Row(
            rule: "a POST is redirected as a GET by 303",
            given: [post, .resume, .wire(1)], when: .answered(1, "HTTP/1.1 303 See Other\r\nLocation: /b\r\n"),
            then: [
                "1: attemptSucceeded", "1: gate(immediate)", "1: attemptStarted(2)",
                "launch 1.2 GET http://192.0.2.1/b",
            ]),
        Row(
            rule: "a hook is asked about a redirect",
            hooks: {
                var hooks = SessionHooks(); hooks.redirect = { _, _, _ in .stop }; return hooks
            }(),
            given: [get, .resume, .wire(1)], when: .answered(1, "HTTP/1.1 302 Found\r\nLocation: /b\r\n"),
            then: ["1: attemptSucceeded", "ask 1.1"]),
        Row(
            rule: "its answer ends the task with the redirect's response",
            hooks: {
                var hooks = SessionHooks(); hooks.redirect = { _, _, _ in .stop }; return hooks
            }(),
            given: [get, .resume, .wire(1), .answered(1, "HTTP/1.1 302 Found\r\nLocation: /b\r\n")],
            when: .hook(.redirect(.stop)), then: ["stopAsking 1", "end 1 (failure)"]),
        Row(
            rule: "an answer of a hook after the task's end does nothing",
            hooks: {
                var hooks = SessionHooks(); hooks.redirect = { _, _, _ in .stop }; return hooks
            }(),
            given: [get, .resume, .wire(1), .answered(1, "HTTP/1.1 302 Found\r\nLocation: /b\r\n"), .cancel],
            when: .hook(.redirect(.follow)), then: []),
        Row(
            rule: "a server's error is tried again after a delay",
            given: [get, .resume, .wire(1)], when: .answered(1, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n"),
            then: ["1: attemptFailed(httpStatus)", "1: retryScheduled(http_5xx)", "1: held(backoff)"]),
        Row(
            rule: "a POST that got no answer is not sent again",
            given: [post, .resume, .wire(1)], when: .failed(1, .reset),
            then: ["1: attemptFailed(outcomeUnknown)", "1: retriesExhausted(notIdempotent)", "end 1 (failure)"]),
        Row(
            rule: "a client's error is final",
            given: [get, .resume, .wire(1)], when: .answered(1, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"),
            then: ["1: attemptFailed(httpStatus)", "end 1 (failure)"]),
        Row(
            rule: "a POST that the server refuses on its connection is sent on another one",
            given: [post, .resume, .wire(1)],
            when: .answered(1, "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n"),
            then: [
                "1: attemptFailed(httpStatus, free)", "1: gate(immediate)", "1: attemptStarted(2)",
                "launch 1.2 POST http://192.0.2.1/a fresh",
            ]),
        Row(
            rule: "a second refusal is final",
            given: [
                post, .resume, .wire(1),
                .answered(1, "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n"), .wire(2),
            ],
            when: .answered(2, "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n"),
            then: ["1: attemptFailed(httpStatus)", "end 1 (failure)"]),
        Row(
            rule: "the fifth failure of a server opens its circuit",
            configuration: circuit, given: [get, .resume, .wire(1)], when: .failed(1, .timedOut),
            then: [
                "session: circuitOpened", "1: attemptFailed(timedOut)", "1: retryScheduled(timed_out)",
                "1: held(backoff)",
            ]),
        Row(
            rule: "an open circuit holds the next task",
            configuration: circuit, given: [get, get, .resume, .wire(1), .failed(1, .timedOut)], when: .resumeTask(2),
            then: ["2: resumed", "2: held(circuit)"]),
    ]

    private static let circuit = {
        var configuration = SessionConfiguration()
        configuration.circuit.failures = 1
        return configuration
    }()

    // MARK: - Ends

    static let ends: [Row] = [
        Row(
            rule: "a task that was only made ends without an attempt", given: [get], when: .cancel,
            then: ["end 1 (cancelled)"]),
        Row(rule: "a task ends once", given: [get, .cancel], when: .cancel, then: []),
        Row(
            rule: "a wanted digest is computed on the disk's thread",
            given: [digested, .resume, .wire(1)], when: .answered(1, ok),
            then: ["1: progress", "1: attemptSucceeded", "disk, answered"]),
        Row(
            rule: "a body with another digest is the task's failure",
            given: [digested, .resume, .wire(1), .answered(1, ok)], when: .disk(.committed(.success(false))),
            then: ["end 1 (failure)"]),
        Row(
            rule: "a disk that stops is, too",
            given: [digested, .resume, .wire(1), .answered(1, ok)], when: .disk(.refused), then: ["end 1 (failure)"]),
        Row(
            rule: "a reset begins a pool and forgets names",
            given: [get, .resume], when: .reset, then: ["beginPool", "forgetNames", "session: reset", "app"]),
        Row(
            rule: "the end of the session cancels tasks, and those without a connection first",
            configuration: .init(), given: [get, get, .resume], when: .drain,
            then: ["end 2 (cancelled)", "discard 1.1", "1: attemptFailed(cancelled, free)", "end 1 (cancelled)"]),
        Row(
            rule: "a task that comes after that is cancelled",
            given: [.drain, get], when: .resume, then: ["end 1 (cancelled)"]),
    ]

    private static let digested = Step.make("http://192.0.2.1/a") { $0.options.sha256 = ContentDigest(of: [1]) }
}
