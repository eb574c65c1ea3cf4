internal import TidegateCore

extension ConfigurationSchema {
    static let remoteWrite: [Field<Configuration.RemoteWrite>] = [
        .value("url", \.url, .url).documented("The receiver's URL; null sends nothing."),
        .value("buffer", \.buffer, ValueParser<ByteText>.size(in: 1 << 20...1 << 40)).documented(
            "How much is kept on disk; when it is full, the oldest samples are dropped and counted.", default: "64MiB"),
        .value("interval", \.interval, ValueParser<Duration>.duration(atLeast: .seconds(1))).documented(
            "From one sample of every metric to the next.", default: "15s"),
        .mapping("labels") { (section, entry) throws(TextError) in
            let value = try ValueParser<String>.text.parse(entry.value)
            section.labels.append(try Configuration.RemoteWrite.Label(checking: entry.key, value: value))
        }.documented("Labels of every series; job is tidegate and instance the host name without them.", default: "{}"),
        .headers("headers") { $0.headers.append($1) }.documented("Header fields of every request.", default: "{}"),
        .section(
            "basic_auth", \.self,
            [
                .value("username", \.user, .text).documented("The user's name."),
                .value("password_file", \.passwordFile, .absolutePath).documented("A file with the password."),
            ]),
        .value("bearer_token_file", \.tokenFile, .absolutePath).documented(
            "A file with a token, instead of basic_auth."),
        .section(
            "tls", \.self,
            [
                .value("ca_file", \.certificateFile, .absolutePath).documented(
                    "A PEM file of authorities that are trusted instead of those of transfers.tls.")
            ]),
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
        guard name.isLabelName else {
            throw TextError("\"\(name)\" is not a valid label name")
        }
        self.init(name: name, value: value)
    }
}
