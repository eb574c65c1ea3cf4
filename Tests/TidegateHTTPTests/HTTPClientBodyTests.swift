import Synchronization
import Testing
import TidegateCore
import TidegateHTTP
import TidegateSession
import TidegateSessionTestKit

/// Bodies, completion handlers and cancellation of the client.
@Suite(.timeLimit(.minutes(5)))
struct HTTPClientBodyTests {
    @Test(
        "A form of files is sent again after a refusal, and compressed if the client is to", arguments: [false, true])
    func multipartAgain(compresses: Bool) async throws {
        var configuration = HTTPClientConfiguration()
        configuration.compressesBodies = compresses
        configuration.prepare = { $0.options.isMarkedIdempotent = true }
        let retry = RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2))
        try await withClient(
            configuration, retry: retry,
            answer: { $0.number == 1 ? .respond(503) : .respond(text: "ok") }
        ) { client, server, _ in
            let scratch = try Scratch()
            scratch.write(LiveServerAnswer.bytes(count: 200_000), to: "a.bin")
            var form = MultipartForm()
            form.append(.file(scratch.file("a.bin")), name: "file")
            var last: Int64 = 0
            try await client.post("x", multipart: form) { last = $0.sent }
            #expect(server.requests.count == 2)
            let bodies = server.requests.map(\.body)
            #expect(bodies[0].elementsEqual(bodies[1]))
            #expect(bodies[0].starts(with: [0x1F, 0x8B]) == compresses)
            #expect(last == Int64(bodies[1].count))
            #expect(server.requests[1].field("content-encoding") == (compresses ? "gzip" : nil))
            #expect(server.requests[1].field("content-type") == form.contentType)
        }
    }

    // MARK: - Completion handlers

    @Test("Completion handlers of every method are called once with the result")
    func completion() async throws {
        try await withClient(answer: { .respond(200, text: $0.method) }) { client, _, _ in
            let calls: [(@escaping HTTPClient.CompletionHandler) -> TransferTask?] = [
                { client.get("a", completion: $0) }, { client.head("a", completion: $0) },
                { client.post("a", completion: $0) }, { client.put("a", completion: $0) },
                { client.patch("a", completion: $0) }, { client.delete("a", completion: $0) },
            ]
            var bodies: [String] = []
            for call in calls {
                let body = await withCheckedContinuation { continuation in
                    let task = call { result in
                        continuation.resume(
                            returning: (try? result.get()).map { String(decoding: $0.body, as: UTF8.self) })
                    }
                    #expect(task != nil)
                }
                bodies.append(body ?? "failed")
            }
            #expect(bodies == ["GET", "", "POST", "PUT", "PATCH", "DELETE"])
        }
    }

    @Test("Cancelling the Swift task cancels the request")
    func cancellation() async throws {
        let isAsked = Latch()
        try await withClient(answer: { _ in
            isAsked.open()
            return LiveServerAnswer([.hang])
        }) { client, _, fixture in
            let call = Task { () -> HTTPClientError? in
                do throws(HTTPClientError) {
                    _ = try await client.get("a")
                    return nil
                } catch {
                    return error
                }
            }
            #expect(await fixture.wait { isAsked.isOpen })
            call.cancel()
            guard case .task(let error)? = await call.value else {
                Issue.record("a cancelled call is no error of the task")
                return
            }
            #expect(error.reason == .cancelled)
        }
    }
}

/// Runs a test with a client whose base has no slash at its end.
func withClient(
    _ configuration: HTTPClientConfiguration = .init(), retry: RetryPolicy = RetryPolicy(),
    answer: @escaping @Sendable (LiveServerRequest) -> LiveServerAnswer,
    _ body: (HTTPClient, LiveServer, SessionFixture) async throws -> Void
) async throws {
    let server = try LiveServer(answer: answer)
    defer { server.stop() }
    let fixture = try SessionFixture(.with { $0.retry = retry })
    let client = try HTTPClient(
        baseURL: server.url("/v1"), session: fixture.session, configuration: configuration)
    try await body(client, server, fixture)
    await fixture.session.invalidate(cancellingTasks: true)
}
