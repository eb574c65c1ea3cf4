internal import TidegateCore

extension ConfigurationSchema {
    static let remoteWrite: [Field<Configuration.RemoteWrite>] = [
        .value("url", \.url, .url),
        .value("buffer", \.buffer, ValueParser<ByteText>.size(in: 1 << 20...1 << 40)),
        .value("interval", \.interval, ValueParser<Duration>.duration(atLeast: .seconds(1))),
        .mapping("labels") { (section, entry) throws(TextError) in
            let value = try ValueParser<String>.text.parse(entry.value)
            section.labels.append(try Configuration.RemoteWrite.Label(checking: entry.key, value: value))
        },
        .headers("headers") { $0.headers.append($1) },
        .section(
            "basic_auth", \.self,
            [.value("username", \.user, .text), .value("password_file", \.passwordFile, .absolutePath)]),
        .value("bearer_token_file", \.tokenFile, .absolutePath),
        .section("tls", \.self, [.value("ca_file", \.certificateFile, .absolutePath)]),
    ]

    // Headers that the protocol sets.
    private static let reservedHeaders: Set<String> = [
        "content-encoding", "content-type", "content-length", "x-prometheus-remote-write-version", "user-agent", "host",
    ]

    @Sendable
    static func checkRemoteWrite(
        _ section: Configuration.RemoteWrite, node: ConfigurationNode, problems: inout ProblemList
    ) {
        if (section.user == nil) != (section.passwordFile == nil) {
            let section = node.value(of: "basic_auth") ?? node
            problems.add("\"username\" and \"password_file\" must both be set", at: section)
        }
        if let token = node.value(of: "bearer_token_file"), section.tokenFile != nil, section.user != nil {
            problems.add("\"basic_auth\" and \"bearer_token_file\" are mutually exclusive", at: token)
        }
        guard case .section(let headers) = node.value(of: "headers")?.content else { return }
        let hasSecret = section.user != nil || section.tokenFile != nil
        for entry in headers {
            let name = entry.key.lowercased()
            if self.reservedHeaders.contains(name) {
                problems.add("this header is set by remote write", at: entry.value)
            } else if name == "authorization", hasSecret {
                problems.add("\"Authorization\" is already set by basic_auth or bearer_token_file", at: entry.value)
            }
        }
    }
}

extension Configuration.RemoteWrite.Label {
    // Names that begin with two underscores are reserved by Prometheus.
    fileprivate init(checking name: String, value: String) throws(TextError) {
        let isPlain = name.utf8.allSatisfy {
            switch $0 {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
            default: false
            }
        }
        guard isPlain, let first = name.utf8.first, !(0x30...0x39).contains(first), !name.hasPrefix("__") else {
            throw TextError("\"\(name)\" is not a valid label name")
        }
        self.init(name: name, value: value)
    }
}
