import Glibc
import Synchronization
import Testing
import Tidegate
import TidegateCore
import TidegateStore
import TidegateTestKit

@testable import TidegateDaemon

/// Passwords in files that do not always answer.
@Suite(.timeLimit(.minutes(5))) struct RemoteWriteSecretsTests {
    private final class Script: Sendable {
        let calls = Mutex(0)
        let reports = Mutex<[String]>([])
        let latch = Latch()

        /// The second call waits for the latch.
        func read() -> Result<RemoteWriteConfiguration.Secrets, TaskError> {
            let call = self.calls.withLock { calls in
                calls += 1
                return calls
            }
            while call == 2, !self.latch.isOpen { usleep(1000) }
            return .success(.init(credentials: Credentials(user: "u", password: "\(call)")))
        }
    }

    @Test("A file that does not answer leaves the last secret, and is reported once; its next answer counts")
    func silent() async throws {
        let script = Script()
        let secrets = RemoteWriteSecrets(
            { script.read() }, report: { text in script.reports.withLock { $0.append(text) } })
        func password() throws -> String? { try secrets.current().get().credentials?.password }
        #expect(try password() == "1")
        for _ in 0..<5 { #expect(try password() == "1") }
        #expect(script.reports.withLock { $0 } == ["a file with its secrets did not answer within 1s"])
        script.latch.open()
        #expect(try await eventually { try password() == "2" })
        #expect(try password() == "3")
    }
}
