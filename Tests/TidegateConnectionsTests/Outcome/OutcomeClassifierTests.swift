import Testing
@testable import TidegateConnections
import TidegateCore
@testable import TidegateNetwork

/// What the kernel's message about a socket that ended says of its connection.
struct OutcomeClassifierTests {
    @Test("A socket without a remote is no connection")
    func noRemote() throws {
        let none = try #require(IPAddress("0.0.0.0"))
        let unused = SocketReport(
            state: .close, local: .init(address: none, port: 0), remote: .init(address: none, port: 0))
        let bound = SocketReport(
            state: .close, local: .init(address: none, port: 8080), remote: .init(address: none, port: 0))
        #expect(OutcomeClassifier.classify(unused) == nil)
        #expect(OutcomeClassifier.classify(bound) == nil)
    }
}
