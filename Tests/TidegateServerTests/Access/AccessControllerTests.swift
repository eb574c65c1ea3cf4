import HTTPTypes
import HummingbirdCore
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

    private static let peer = PeerAddress(ip: IPAddress("10.0.0.66"))
    private static let scraper = PeerAddress(ip: IPAddress("10.0.0.9"))

    private static func policy(_ users: [String: String] = [:], rate: RateLimit? = nil) -> AccessPolicy {
        var policy = AccessPolicy()
        policy.users = AccessPolicyTests.users(users)
        policy.rate = rate
        return policy
    }

    private func controller(
        _ loader: ScriptedAccessPolicy, time: ManualTime = ManualTime(),
        _ body: (AccessController) async throws -> Void
    ) async throws {
        let controller = AccessController(loader, time: time)
        controller.start()
        defer { controller.stop() }
        try await body(controller)
    }

    @Test("Users are allowed with their password; other users and other passwords are not")
    func users() async throws {
        let loader = try ScriptedAccessPolicy(Self.policy(["ann": AccessPolicyTests.secret]))
        try await self.controller(loader) { controller in
            for header in [nil, "", "Bearer x", Self.annWrong, Self.bob, "Basic OnNlY3JldA=="] {
                let denial = await controller.decision(authorization: header, peer: Self.peer).denial
                #expect(denial == .unauthenticated, "\(header ?? "none")")
            }
            for _ in 0..<3 {
                #expect(await controller.decision(authorization: Self.ann, peer: Self.peer).denial == nil)
                #expect(
                    await controller.decision(authorization: Self.annWrong, peer: Self.peer).denial == .unauthenticated)
            }
        }
    }

    @Test("Without users every request is allowed")
    func noUsers() async throws {
        try await self.controller(try ScriptedAccessPolicy()) { controller in
            #expect(await controller.decision(authorization: nil, peer: Self.peer).denial == nil)
            #expect(await controller.decision(authorization: Self.annWrong, peer: Self.peer).denial == nil)
        }
    }

    @Test("A verified password is denied after it was changed, and after its user was removed")
    func changed() async throws {
        let loader = try ScriptedAccessPolicy(Self.policy(["ann": AccessPolicyTests.secret]))
        try await self.controller(loader) { controller in
            #expect(await controller.decision(authorization: Self.ann, peer: Self.peer).denial == nil)
            try loader.use(Self.policy(["ann": AccessPolicyTests.other]))
            #expect(await controller.decision(authorization: Self.ann, peer: Self.peer).denial == .unauthenticated)
            #expect(await controller.decision(authorization: Self.annOther, peer: Self.peer).denial == nil)
            try loader.use(Self.policy(["bob": AccessPolicyTests.secret]))
            #expect(await controller.decision(authorization: Self.ann, peer: Self.peer).denial == .unauthenticated)
            #expect(await controller.decision(authorization: Self.annOther, peer: Self.peer).denial == .unauthenticated)
            #expect(await controller.decision(authorization: Self.bob, peer: Self.peer).denial == nil)
        }
    }

    @Test("Wrong passwords wait in a short queue, and verified users do not wait behind it")
    func guesses() async throws {
        // Every hash takes a second and more.
        let costly = "$2y$12$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
        let loader = try ScriptedAccessPolicy(Self.policy(["ann": AccessPolicyTests.secret]))
        try await self.controller(loader) { controller in
            #expect(await controller.decision(authorization: Self.ann, peer: Self.peer).denial == nil)
            try loader.use(Self.policy(["ann": AccessPolicyTests.secret, "bob": costly]))
            let guessing = Task {
                await withTaskGroup(of: AuthorizationDecision.Denial?.self) { group in
                    for _ in 0..<(AccessController.maxWaitingHashesOfPeer + 20) {
                        group.addTask {
                            await controller.decision(authorization: Self.annWrong, peer: Self.peer).denial
                        }
                    }
                    // The guesses beyond the queue are denied at once.
                    var denials = group.makeAsyncIterator()
                    while let denial = await denials.next(), denial != .busy {}
                    #expect(await controller.decision(authorization: Self.ann, peer: Self.peer).denial == nil)
                    group.cancelAll()
                    // How many were allowed.
                    return await group.reduce(into: 0) { $0 += $1 == nil ? 1 : 0 }
                }
            }
            #expect(await guessing.value == 0)
        }
    }

    @Test("A user whose password was not verified yet is let in while another peer guesses")
    func guessesAfterRestart() async throws {
        let loader = try ScriptedAccessPolicy(Self.policy(["ann": AccessPolicyTests.secret]))
        try await self.controller(loader) { controller in
            let guessing = (0..<(AccessController.maxWaitingHashesOfPeer * 2)).map { _ in
                Task {
                    while !Task.isCancelled {
                        _ = await controller.decision(authorization: Self.annWrong, peer: Self.peer)
                        await Task.yield()
                    }
                }
            }
            defer { for task in guessing { task.cancel() } }
            // The queue is full when a guess is denied at once.
            while await controller.decision(authorization: Self.annWrong, peer: Self.peer).denial != .busy {}
            #expect(await controller.decision(authorization: Self.ann, peer: Self.scraper).denial == nil)
        }
    }

    /// Counts answers.
    private final class Answers: Sendable {
        private let state = Mutex(0)
        var count: Int { self.state.withLock { $0 } }
        func add() { self.state.withLock { $0 += 1 } }
    }

    /// Has peers guess without end, one password at a time, until the tasks are cancelled; returns when they have had
    /// several answers each.
    private static func guess(_ controller: AccessController, peers: Int) async -> [Task<Void, Never>] {
        let answers = Answers()
        let tasks = (0..<peers).map { number in
            Task {
                let peer = PeerAddress(ip: IPAddress(ipv4: 0x0A01_0000 + UInt32(number)))
                while !Task.isCancelled {
                    _ = await controller.decision(authorization: Self.annWrong, peer: peer)
                    answers.add()
                    await Task.yield()
                }
            }
        }
        while answers.count < peers * 3 { await Task.yield() }
        return tasks
    }

    @Test("The right user is let in each time while 50 addresses guess")
    func guessesFromManyAddresses() async throws {
        let loader = try ScriptedAccessPolicy(Self.policy(["ann": AccessPolicyTests.secret]))
        try await self.controller(loader) { controller in
            let guessing = await Self.guess(controller, peers: 50)
            defer { for task in guessing { task.cancel() } }
            for _ in 0..<13 {
                #expect(await controller.decision(authorization: Self.ann, peer: Self.scraper).denial == nil)
                await Task.yield()
            }
        }
    }

    @Test("A client that has been verified keeps its turn, although more addresses guess than can wait")
    func verifiedPeer() async throws {
        let loader = try ScriptedAccessPolicy(Self.policy(["ann": AccessPolicyTests.secret]))
        try await self.controller(loader) { controller in
            #expect(await controller.decision(authorization: Self.ann, peer: Self.scraper).denial == nil)
            // The password has to be verified again.
            try loader.use(Self.policy(["ann": AccessPolicyTests.other]))
            let guessing = await Self.guess(controller, peers: AccessController.maxWaitingHashes * 2)
            defer { for task in guessing { task.cancel() } }
            while await controller.decision(authorization: Self.annWrong, peer: Self.peer).denial != .busy {}
            #expect(await controller.decision(authorization: Self.annOther, peer: Self.scraper).denial == nil)
        }
    }

    @Test("Each peer has the rate, and it begins again when it is changed")
    func rate() async throws {
        let time = ManualTime()
        let loader = try ScriptedAccessPolicy(Self.policy(rate: RateLimit(interval: .seconds(10), burst: 2)))
        try await self.controller(loader, time: time) { controller in
            #expect(await controller.decision(authorization: nil, peer: Self.peer).denial == nil)
            #expect(await controller.decision(authorization: Self.ann, peer: Self.peer).denial == nil)
            #expect(
                await controller.decision(authorization: nil, peer: Self.peer).denial
                    == .rateLimited(retryAfter: .seconds(10)))
            #expect(await controller.decision(authorization: nil, peer: Self.scraper).denial == nil)
            time.advance(by: .seconds(10))
            #expect(await controller.decision(authorization: nil, peer: Self.peer).denial == nil)
            #expect(
                await controller.decision(authorization: nil, peer: Self.peer).denial
                    == .rateLimited(retryAfter: .seconds(10)))
            try loader.use(Self.policy(rate: RateLimit(interval: .seconds(1), burst: 1)))
            #expect(await controller.decision(authorization: nil, peer: Self.peer).denial == nil)
            #expect(
                await controller.decision(authorization: nil, peer: Self.peer).denial
                    == .rateLimited(retryAfter: .seconds(1)))
            try loader.use(Self.policy())
            #expect(await controller.decision(authorization: nil, peer: Self.peer).denial == nil)
        }
    }

    @Test("A controller that does not run denies every request")
    func stopped() async throws {
        let controller = AccessController(try ScriptedAccessPolicy(), time: ManualTime())
        #expect(await controller.decision(authorization: nil, peer: Self.peer).denial == .busy)
    }

    @Test("A denial is a response that says what to do")
    func problems() async throws {
        let unauthenticated = try #require(AuthorizationDecision(denial: .unauthenticated).problem)
        #expect(unauthenticated.status == .unauthorized)
        #expect(unauthenticated.headers[.wwwAuthenticate] == "Basic realm=\"tidegate\", charset=\"UTF-8\"")
        #expect(try await RoutedResponse(unauthenticated).text == "Authentication required.\n")
        let limited = AuthorizationDecision(denial: .rateLimited(retryAfter: .milliseconds(2300))).problem
        #expect(limited?.status == .tooManyRequests && limited?.headers[.retryAfter] == "3")
        #expect(AuthorizationDecision(denial: .busy).problem?.status == .serviceUnavailable)
        #expect(AuthorizationDecision().problem == nil)
    }
}
