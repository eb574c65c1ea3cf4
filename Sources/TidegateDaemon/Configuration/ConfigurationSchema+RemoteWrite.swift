package import HTTPTypes

extension Configuration {
    /// The `remote_write` section: where samples are sent that nobody can scrape.
    package struct RemoteWrite: Sendable, Hashable {
        /// The receiver; nil sends nothing.
        package var url: String?
        package var buffer: ByteText?
        package var interval: Duration?
        package var labels: [Label] = []
        package var headers: [HTTPField] = []
        package var user: String?
        package var passwordFile: String?
        package var tokenFile: String?
        package var certificateFile: String?

        /// A label that every series gets.
        package struct Label: Sendable, Hashable {
            package var name: String
            package var value: String
        }
    }
}

extension ConfigurationSchema {
    static let remoteWrite: [Field<Configuration.RemoteWrite>] = [
        .value("url", \.url, .url),
        .value("buffer", \.buffer, ValueKind<ByteText>.size(in: 1 << 20...1 << 40)),
        .value("interval", \.interval, ValueKind<Duration>.duration(atLeast: .seconds(1))),
        .labels("labels", \.labels), .headers("headers", \.headers),
        .section(
            "basic_auth", \.self,
            [.value("username", \.user, .text), .value("password_file", \.passwordFile, .absolutePath)]),
        .value("bearer_token_file", \.tokenFile, .absolutePath),
        .section("tls", \.self, [.value("ca_file", \.certificateFile, .absolutePath)]),
    ]

    // What the protocol says itself.
    private static let reservedHeaders: Set<String> = [
        "content-encoding", "content-type", "content-length", "x-prometheus-remote-write-version", "user-agent", "host",
    ]

    @Sendable
    static func checkRemoteWrite(
        _ section: Configuration.RemoteWrite, node: ConfigurationNode, problems: inout ProblemList
    ) {
        if (section.user == nil) != (section.passwordFile == nil) {
            let place = node.value(of: "basic_auth") ?? node
            problems.add("\"username\" and \"password_file\" belong together", at: place)
        }
        if let token = node.value(of: "bearer_token_file"), section.tokenFile != nil, section.user != nil {
            problems.add("\"basic_auth\" and \"bearer_token_file\" do not go together", at: token)
        }
        guard case .section(let headers) = node.value(of: "headers")?.content else { return }
        let hasSecret = section.user != nil || section.tokenFile != nil
        for entry in headers {
            let name = entry.key.lowercased()
            if self.reservedHeaders.contains(name) {
                problems.add("remote write sets this header itself", at: entry.value)
            } else if name == "authorization", hasSecret {
                problems.add("there is another secret: the header \"Authorization\" can be given once", at: entry.value)
            }
        }
    }
}

extension ValueKind<ByteText> {
    /// A count of bytes.
    static func size(in range: ClosedRange<Int64>) -> ValueKind {
        .text("a size") { text throws(TextError) in
            let size = try ByteText(parsing: text)
            guard range.contains(size.bytes) else {
                let isBelow = size.bytes < range.lowerBound
                let bound = ByteText(isBelow ? range.lowerBound : range.upperBound)
                throw TextError("\(text) is \(isBelow ? "below" : "above") \(bound)")
            }
            return size
        }
    }
}

extension Field {
    /// A key with labels, each under its name.
    fileprivate static func labels(_ key: String, _ place: Place<Section, [Configuration.RemoteWrite.Label]>) -> Field {
        Field(key: key, isRequired: false) { section, node, problems in
            switch node.content {
            case .null: break
            case .scalar, .list: problems.add("expected names with their values, found \(node.words)", at: node)
            case .section(let entries):
                for entry in entries {
                    let label = problems.trying(at: entry.value) { () throws(TextError) in
                        try Configuration.RemoteWrite.Label(
                            checking: entry.key, value: try ValueKind<String>.text.parse(entry.value))
                    }
                    if let label { section[keyPath: place].append(label) }
                }
            }
        }
    }
}

extension Configuration.RemoteWrite.Label {
    // Names that begin with two underscores are Prometheus's own.
    fileprivate init(checking name: String, value: String) throws(TextError) {
        let isPlain = name.utf8.allSatisfy {
            switch $0 {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
            default: false
            }
        }
        guard isPlain, let first = name.utf8.first, !(0x30...0x39).contains(first), !name.hasPrefix("__") else {
            throw TextError("\"\(name)\" is not a name that a label can have")
        }
        self.init(name: name, value: value)
    }
}
