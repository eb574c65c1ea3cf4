import Foundation
import HTTPTypes
import TidegateMetrics

@testable import TidegateCEL
@testable import TidegateCore
@testable import TidegateDaemon
@testable import TidegateNetwork
@testable import TidegateServer
@testable import TidegateSession
@testable import TidegateTransfer

/// A parser of bytes that others choose: the kernel, a server, an operator, a client.
///
/// Any input must end in a value or an error. The raw value is the name of the folder with its seeds.
enum FuzzTarget: String, CaseIterable, Sendable {
    case netlink
    case socketDiagnostics = "socket-diagnostics"
    case dns
    case responseHead = "response-head"
    case configuration
    case webConfiguration = "web-configuration"
    case controlRequest = "control-request"
    case cel
    case cookies
    case negotiation

    /// Parses an input, and uses what the parser returns; says what is wrong with that, if anything is.
    func problem(with bytes: [UInt8]) -> String? {
        switch self {
        case .netlink: bytes.withUnsafeBytes(FuzzTarget.decodeNetlink)
        case .socketDiagnostics: bytes.withUnsafeBytes { SocketMessageDecoder.decode($0) { _, _ in } }
        case .dns: FuzzTarget.readMessage(bytes)
        case .responseHead: FuzzTarget.readHead(bytes)
        case .configuration: return FuzzTarget.readConfiguration(String(decoding: bytes, as: UTF8.self))
        case .webConfiguration: FuzzTarget.readWebConfiguration(String(decoding: bytes, as: UTF8.self))
        case .controlRequest: FuzzTarget.readRequest(bytes)
        case .cel: FuzzTarget.evaluate(bytes)
        case .cookies: FuzzTarget.readCookies(String(decoding: bytes, as: UTF8.self))
        case .negotiation: FuzzTarget.negotiate(String(decoding: bytes, as: UTF8.self))
        }
        return nil
    }

    private static func decodeNetlink(_ datagram: UnsafeRawBufferPointer) {
        MessageDecoder.decode(datagram) { _ in }
        _ = MessageDecoder.each(datagram) { message in
            _ = MessageDecoder.answer(message)
            for family in [AddressFamily.ipv4, .ipv6] {
                _ = RuleDecoder.decode(message, in: family)
                _ = RouteDecoder.listed(message, longest: 128, in: family)
            }
            _ = NeighbourDecoder.decode(message)
            _ = NetconfDecoder.decode(message)
        }
    }

    // Ids and names of the seeds, so that an input gets behind the comparison with the question.
    private static let questions = ["A", "AAAA", "ANY"].compactMap {
        DNSQuery("www.example.org", type: $0, id: 0x1234)
    }

    private static func readMessage(_ bytes: [UInt8]) {
        for question in self.questions {
            _ = DNSMessageParser.parse(bytes, of: question)
            _ = DNSReply(bytes, to: question)
        }
        var stream = DNSStream(unsent: [])
        _ = stream.receive(bytes)
    }

    private static func readHead(_ bytes: [UInt8]) {
        var parser = ResponseHeadParser()
        bytes.withUnsafeBytes { block in
            var start = 0
            while start < block.count {
                let end = block[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? block.count
                guard case .more = parser.append(UnsafeRawBufferPointer(rebasing: block[start..<end])) else { break }
                start = end
            }
        }
        guard let head = ResponseHead(block: bytes) else { return }
        _ = (head.version, head.fields, head.strongETag, head.contentEncoding, head.totalLength)
        _ = HeaderBlock(bytes).contradictoryLengths
    }

    private static func readConfiguration(_ text: String) -> String? {
        guard let root = try? YAMLFile.parse(text, file: "input") else { return nil }
        _ = try? Configuration(root, name: "input")
        // Printed without secrets, a configuration is YAML still.
        let printed = ConfigurationText.text(of: root)
        return Result { try YAMLFile.parse(printed, file: "printed") }.failure.map { "\($0):\n\(printed)" }
    }

    private static func readWebConfiguration(_ text: String) {
        guard let root = try? YAMLFile.parse(text, file: "input") else { return }
        var problems = ProblemList()
        var configuration = WebConfiguration()
        problems.read(WebSchema.root, from: root, into: &configuration)
        _ = try? LoadedAccessPolicy(configuration.policy)
    }

    private static func readRequest(_ bytes: [UInt8]) {
        _ = TaskPage(target: String(decoding: bytes, as: UTF8.self))
        _ = try? SubmissionDocument.read(bytes).request()
    }

    /// An expression, and behind the first line end the document.
    private static func evaluate(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        guard let text = parts.first,
            let expression = try? CELExpression(String(decoding: text, as: UTF8.self), variable: "body")
        else { return }
        guard let document = try? JSONValue(parsing: parts.count > 1 ? parts[1] : [], mostNodes: 10_000) else { return }
        _ = try? expression.isTrue(of: document, isCancelled: { true })
    }

    private static func readCookies(_ text: String) {
        guard let url = try? HTTPURL("https://www.example.org/a/b") else { return }
        let jar = CookieJar(netscape: text)
        let now = WallTime(microseconds: 1_700_000_000_000_000)
        jar.take(text.split(separator: "\n").map(String.init), from: url, at: now)
        _ = jar.field(for: url, at: now)
    }

    private static func negotiate(_ text: String) {
        _ = ContentNegotiation.format(accept: text).contentType
        _ = Gzip.isAccepted(by: text)
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
