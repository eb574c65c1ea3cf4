internal import Testing
internal import TidegateCore
@testable internal import TidegateNetwork

@testable internal import TidegateReachability

/// Evaluations of scripted tables and lookups, without a kernel.
struct RouteEvaluatorTests {
    /// Tables and lookups that a test sets.
    private final class ScriptedRoutes: RouteSource {
        var tables = KernelTables(
            links: [.loopback, .make()], addresses: [KernelAddress.make("10.0.0.2/24")].compactMap(\.self))
        var answers: [IPAddress: RouteLookup] = [:]
        var isConnected = true
        private(set) var questions: [RouteQuestion] = []

        func lookUp(_ questions: ArraySlice<RouteQuestion>, _ body: (Int, RouteLookup) -> Void) -> Bool {
            guard self.isConnected else { return false }
            for (index, question) in questions.enumerated() {
                self.questions.append(question)
                body(index, self.answers[question.destination] ?? .refused(101))
            }
            return true
        }
    }

    private let routes = ScriptedRoutes()
    private let sentinel = IPAddress(ipv4: 0x0808_0808)
    private let resolver = IPAddress(ipv4: 0x0A00_0035)
    private let now = MonotonicTime(nanoseconds: 1_000_000_000)

    private func route(expiresIn expiry: Duration? = nil) -> RouteLookup {
        .routed(KernelRoute(link: 77, source: IPAddress(ipv4: 0x0A00_0002), expiresIn: expiry))
    }

    private func evaluator(
        _ change: (inout ReachabilityConfiguration) -> Void = { _ in }
    ) throws -> RouteEvaluator {
        var configuration = ReachabilityConfiguration()
        configuration.sentinels = [.ipv4: [self.sentinel]]
        configuration.meteredInterfaces = ["eth.*"]
        change(&configuration)
        return RouteEvaluator(self.routes, configuration) { [resolver] in [resolver] }
    }

    @Test("A snapshot is taken only after the tables have changed")
    func snapshot() throws {
        let evaluator = try self.evaluator()
        #expect(evaluator.refreshSnapshot(at: self.now)?.links.count == 2)
        #expect(evaluator.refreshSnapshot(at: self.now) == nil)
        self.routes.tables = KernelTables(links: [.loopback])
        #expect(evaluator.reducer.snapshot.links.count == 2)
        evaluator.invalidateSnapshot()
        #expect(evaluator.refreshSnapshot(at: self.now)?.links.count == 1)
    }

    @Test("Families are evaluated by their sentinels, and resolvers by their own routes")
    func families() throws {
        let evaluator = try self.evaluator()
        _ = evaluator.refreshSnapshot(at: self.now)
        self.routes.answers = [self.sentinel: self.route()]
        let result = try #require(evaluator.evaluateFamilies())
        #expect(result.families.map(\.verdict.level) == [.routed, .none])
        #expect(result.families[0].verdict.path?.metered == .yes)
        #expect(result.resolvers.level == .none)
        #expect(result.lookups == self.routes.questions.count)
        self.routes.answers[self.resolver] = self.route()
        #expect(evaluator.evaluateFamilies()?.resolvers.level == .routed)
    }

    @Test("Sentinels are looked up for the sockets of tasks, resolvers for this process")
    func context() throws {
        let evaluator = try self.evaluator {
            $0.mark = 7
            $0.uid = 65534
        }
        _ = evaluator.evaluateFamilies()
        let sentinels = self.routes.questions.filter { $0.destination != self.resolver }
        #expect(sentinels.allSatisfy { $0.mark == 7 && $0.uid == 65534 } && !sentinels.isEmpty)
        #expect(self.routes.questions.filter { $0.destination == self.resolver }.map(\.mark) == [nil])
    }

    @Test("Configured resolvers are used instead of the system's")
    func resolvers() throws {
        let own = IPAddress(ipv4: 0x0A00_0036)
        _ = try self.evaluator { $0.resolvers = [own] }.evaluateFamilies()
        #expect(self.routes.questions.contains { $0.destination == own })
        #expect(!self.routes.questions.contains { $0.destination == self.resolver })
    }

    @Test("Without a kernel there is no evaluation")
    func disconnected() throws {
        let evaluator = try self.evaluator()
        self.routes.isConnected = false
        #expect(evaluator.evaluateFamilies() == nil)
        #expect(!evaluator.evaluate([RouteQuestion(self.sentinel)]) { _, _ in Issue.record("there is no answer") })
    }

    @Test("The route that expires first decides, and a new evaluation forgets the last one's")
    func expiry() throws {
        let evaluator = try self.evaluator()
        _ = evaluator.refreshSnapshot(at: self.now)
        self.routes.answers = [self.sentinel: self.route(expiresIn: .seconds(9))]
        let target = IPAddress(ipv4: 0x0A00_0007)
        self.routes.answers[target] = self.route(expiresIn: .seconds(4))
        _ = evaluator.evaluateFamilies()
        #expect(evaluator.expiry.soonest == .seconds(9))
        _ = evaluator.evaluate([RouteQuestion(target)]) { _, _ in }
        #expect(evaluator.expiry.deadline(from: self.now) == self.now + .milliseconds(4020))
        self.routes.answers = [:]
        _ = evaluator.evaluateFamilies()
        #expect(evaluator.expiry.deadline(from: self.now) == nil)
    }

    @Test("After an expiry without a trace one more evaluation follows, and only one")
    func confirmation() {
        var expiry = RouteExpiry()
        expiry.note(.zero)
        #expect(expiry.deadline(from: self.now) == self.now + .milliseconds(200), "never in a tight loop")
        #expect(expiry.confirmation(from: self.now) == nil)
        expiry.reset()
        #expect(expiry.confirmation(from: self.now) == self.now + .milliseconds(100))
        #expect(expiry.confirmation(from: self.now) == nil)
    }
}
