import Synchronization
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite struct AccessControllerTests {
    private static let ann = "Basic YW5uOnNlY3JldA=="
    private static let bob = "Basic Ym9iOnNlY3JldA=="
    private static let annWrong = "Basic YW5uOndyb25n"
    private static let annOther = "Basic YW5uOm90aGVy"

    private static func policy(_ users: [String: String] = [:], rate: RateLimit? = nil) -> AccessPolicy {
        var policy = AccessPolicy()
        policy.users = AccessPolicyTests.book(users)
        policy.rate = rate
        return policy
    }

    private func desk(
        _ source: ScriptedAccess, time: ManualTime = ManualTime(), _ body: (AccessController) async throws -> Void
    ) async throws {
        let desk = AccessController(source, time: time)
        desk.start()
        defer { desk.stop() }
        try await body(desk)
    }

    @Test("Users get in with their password, others and other passwords do not")
    func users() async throws {
        try await self.desk(try ScriptedAccess(Self.policy(["ann": AccessPolicyTests.secret]))) { desk in
            for header in [nil, "", "Bearer x", Self.annWrong, Self.bob, "Basic OnNlY3JldA=="] {
                #expect(await desk.admission(of: header).refusal == .unauthorized, "\(header ?? "none")")
            }
            for _ in 0..<3 {
                #expect(await desk.admission(of: Self.ann).refusal == nil)
                #expect(await desk.admission(of: Self.annWrong).refusal == .unauthorized)
            }
        }
    }

    @Test("Without users everybody gets in")
    func noUsers() async throws {
        try await self.desk(try ScriptedAccess()) { desk in
            #expect(await desk.admission(of: nil).refusal == nil)
            #expect(await desk.admission(of: Self.annWrong).refusal == nil)
        }
    }

    @Test("A password that was right a moment ago is not after it was changed, nor for a user who went")
    func changed() async throws {
        let source = try ScriptedAccess(Self.policy(["ann": AccessPolicyTests.secret]))
        try await self.desk(source) { desk in
            #expect(await desk.admission(of: Self.ann).refusal == nil)
            try source.use(Self.policy(["ann": AccessPolicyTests.other]))
            #expect(await desk.admission(of: Self.ann).refusal == .unauthorized)
            #expect(await desk.admission(of: Self.annOther).refusal == nil)
            try source.use(Self.policy(["bob": AccessPolicyTests.secret]))
            #expect(await desk.admission(of: Self.ann).refusal == .unauthorized)
            #expect(await desk.admission(of: Self.annOther).refusal == .unauthorized)
            #expect(await desk.admission(of: Self.bob).refusal == nil)
        }
    }

    @Test("Those who guess wait in a short queue, and those who are known pass by it")
    func guesses() async throws {
        // Every check takes a second and more.
        let costly = "$2y$12$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
        let source = try ScriptedAccess(Self.policy(["ann": AccessPolicyTests.secret]))
        try await self.desk(source) { desk in
            #expect(await desk.admission(of: Self.ann).refusal == nil)
            try source.use(Self.policy(["ann": AccessPolicyTests.secret, "bob": costly]))
            let guessing = Task {
                await withTaskGroup(of: AuthorizationDecision.Refusal?.self) { group in
                    for _ in 0..<(AccessController.patience + 20) {
                        group.addTask { await desk.admission(of: Self.annWrong).refusal }
                    }
                    // Those who did not fit are told so.
                    var refusals = group.makeAsyncIterator()
                    while let refusal = await refusals.next(), refusal != .busy {}
                    #expect(await desk.admission(of: Self.ann).refusal == nil)
                    group.cancelAll()
                    // Nobody has got in.
                    return await group.reduce(into: 0) { $0 += $1 == nil ? 1 : 0 }
                }
            }
            #expect(await guessing.value == 0)
        }
    }

    @Test("A rate is kept for all together, and starts anew where it is changed")
    func rate() async throws {
        let time = ManualTime()
        let source = try ScriptedAccess(Self.policy(rate: RateLimit(interval: .seconds(10), burst: 2)))
        try await self.desk(source, time: time) { desk in
            #expect(await desk.admission(of: nil).refusal == nil)
            #expect(await desk.admission(of: Self.ann).refusal == nil)
            #expect(await desk.admission(of: nil).refusal == .tooSoon(.seconds(10)))
            time.advance(by: .seconds(10))
            #expect(await desk.admission(of: nil).refusal == nil)
            #expect(await desk.admission(of: nil).refusal == .tooSoon(.seconds(10)))
            try source.use(Self.policy(rate: RateLimit(interval: .seconds(1), burst: 1)))
            #expect(await desk.admission(of: nil).refusal == nil)
            #expect(await desk.admission(of: nil).refusal == .tooSoon(.seconds(1)))
            try source.use(Self.policy())
            #expect(await desk.admission(of: nil).refusal == nil)
        }
    }

    @Test("A desk that has stopped lets nobody in")
    func stopped() async throws {
        let desk = AccessController(try ScriptedAccess(), time: ManualTime())
        #expect(await desk.admission(of: nil).refusal == .busy)
    }

    @Test("Refusals are answers that tell what to do")
    func answers() {
        let unauthorized = AuthorizationDecision(refusal: .unauthorized).answer(for: .metrics)
        #expect(unauthorized?.status == 401 && unauthorized?.handler == .metrics)
        #expect(unauthorized?.fields.map(\.value) == ["Basic realm=\"tidegate\", charset=\"UTF-8\""])
        let soon = AuthorizationDecision(refusal: .tooSoon(.milliseconds(2300))).answer(for: .page)
        #expect(soon?.status == 429 && soon?.fields.map(\.value) == ["3"])
        #expect(AuthorizationDecision(refusal: .busy).answer(for: .page)?.status == 503)
        #expect(AuthorizationDecision().answer(for: .page) == nil)
    }
}
