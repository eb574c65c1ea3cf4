import Testing
import TidegateTestKit

/// `fetch --redirects`.
@Suite(.timeLimit(.minutes(5))) struct RedirectOptionTests {
    @Test("A refused redirect is one sentence with the policy, the target and what to do, and without credentials")
    func refused() async throws {
        let end = try LiveServer { _ in .respond(text: "end") }
        let start = try LiveServer { _ in
            .respond(302, ["Location: http://me:hunter2@127.0.0.1:\(end.port)/end?token=hunter2"])
        }
        defer {
            start.stop()
            end.stop()
        }
        let fetch = [BuiltProduct.path(of: "tidegate"), "fetch", "--discard", "--write-out", "json", start.url("/x")]
        let refused = try await Program.run(fetch + ["--redirects", "same-origin"])
        #expect(refused.status == 1)
        #expect(
            refused.output.contains("\"reason\":\"redirectRefused\"") && refused.output.contains("\"party\":\"theirs\"")
        )
        #expect(
            refused.errors.contains(
                """
                /x: failed: the server redirects to \(end.url("/end")), another origin, which the policy same-origin \
                refuses; --redirects free or transfers.redirects allows it (the server)

                """), "\(refused)")
        #expect(!(refused.output + refused.errors).contains("hunter2"))
        #expect(end.requests.isEmpty)
        let free = try await Program.run(fetch + ["--redirects", "free", "-H", "X-Api-Key: k"])
        #expect(free.status == 0 && end.requests.first?.field("x-api-key") == "k", "\(free)")
        let unknown = try await Program.run(fetch + ["--redirects", "all"])
        #expect(unknown.status == 2)
        #expect(unknown.errors.contains("\"all\" is not one of same-origin, no-downgrade, free"), "\(unknown)")
    }
}
