internal import Synchronization
internal import Testing
@testable internal import TidegateCore
@testable internal import TidegateReachability
internal import TidegateNetwork
internal import TidegateTestKit

/// Two hosts with a monitor on one, and diagnostics whose packets stay between them.
final class LadderFixture: Sendable {
    let hosts: VethPairFixture
    let fixture: MonitorFixture
    let diagnostics: PathDiagnostics
    let web: ScriptedHTTPChecker

    init(
        _ hosts: VethPairFixture, names: [String: [IPAddress]] = [:], nameservers: [String] = ["10.0.0.1"],
        internetCheck: InternetCheckPolicy = .off, web: ScriptedHTTPChecker = ScriptedHTTPChecker(),
        connections: ConnectionsReport? = nil, targets: [Target: TargetCheck] = [:],
        targetChecker: (any TargetChecker)? = nil, diagnosesHost: Bool = false, emptyReadings: Int = 0,
        search: [String] = []
    ) {
        self.hosts = hosts
        var configuration = ReachabilityConfiguration(targets: targets.keys.map(\.self))
        configuration.targetChecks = targets
        self.web = web
        var settings = ResolverSettings()
        settings.nameservers = nameservers.compactMap { IPAddress($0) }
        settings.search = search
        let file = RewrittenFile(settings, emptyReadings: emptyReadings)
        let dependencies = PathDiagnostics.Dependencies(
            time: TestTime(), onThreadStart: { hosts.here.enter() }, settings: { file.read() },
            connections: connections.map { ScriptedObservation($0) })
        let diagnostics: (ReachabilityMonitor, ScriptedResolver) -> PathDiagnostics = { monitor, resolver in
            PathDiagnostics(
                monitor: monitor, resolver: resolver, web: web, internetCheck: internetCheck, time: TestTime(),
                dependencies: dependencies)
        }
        self.fixture = MonitorFixture(
            hosts.here, configuration, names: names, targetChecker: targetChecker ?? HTTPTargetChecker(web: web),
            diagnoser: diagnostics, diagnosesHost: diagnosesHost)
        self.diagnostics = diagnostics(self.fixture.monitor, self.fixture.resolver)
    }

    func explain(_ text: String, within limit: Duration = .seconds(5)) async throws -> Explanation {
        await self.diagnostics.diagnose(try ExplainTarget(text), within: limit)
    }
}

/// A resolv.conf that is empty for a few readings, because a program rewrites it.
private final class RewrittenFile: Sendable {
    private let settings: ResolverSettings
    private let emptyReadings: Mutex<Int>

    init(_ settings: ResolverSettings, emptyReadings: Int) {
        self.settings = settings
        self.emptyReadings = Mutex(emptyReadings)
    }

    func read() -> ResolverSettings {
        self.emptyReadings.withLock { rest in
            rest -= 1
            return rest >= 0 ? ResolverSettings(parsing: "") : self.settings
        }
    }
}

extension Explanation {
    func report(_ rung: Rung, _ family: AddressFamily = .ipv4) -> RungReport? {
        self.ladders.first { $0.family == family }?.rungs.first { $0.rung == rung }
    }
}

extension RungReport {
    /// All evidence as one text, for a look into it.
    var text: String { self.evidence.joined(separator: "; ") }
}

/// A checker with scripted answers.
final class ScriptedHTTPChecker: HTTPChecker {
    private struct State {
        var answer: @Sendable (HTTPCheck.Request) -> HTTPCheck.Result
        var questions: [HTTPCheck.Request] = []
    }

    private let state: Mutex<State>

    init(
        _ answer: @escaping @Sendable (HTTPCheck.Request) -> HTTPCheck.Result = { _ in
            HTTPCheck.Result(reached: .response, status: 204)
        }
    ) {
        self.state = Mutex(State(answer: answer))
    }

    func check(_ question: HTTPCheck.Request, onWire: @escaping @Sendable () -> Void) async -> HTTPCheck.Result {
        let answer = self.state.withLock { state in
            state.questions.append(question)
            return state.answer
        }
        return answer(question)
    }

    func say(_ answer: @escaping @Sendable (HTTPCheck.Request) -> HTTPCheck.Result) {
        self.state.withLock { $0.answer = answer }
    }

    var questions: [HTTPCheck.Request] { self.state.withLock { $0.questions } }
}
