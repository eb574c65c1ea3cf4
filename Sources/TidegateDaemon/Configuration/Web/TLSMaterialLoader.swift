internal import TidegateServer

/// Loads certificates and keys, inline or from the files that the configuration names.
struct TLSMaterialLoader {
    let section: ConfigurationNode
    /// The directory of relative paths; empty, or with a trailing slash.
    let directory: String
    var problems: ProblemList

    /// The TLS settings; nil without TLS, or if a file cannot be read, which adds a problem.
    mutating func serving(_ tls: WebConfiguration.TLS, _ files: inout WebFile.Files) -> TLSServerConfiguration? {
        guard let certificate = self.text(tls.certificate, tls.certificateFile, "cert_file", &files),
            let key = self.text(tls.key, tls.keyFile, "key_file", &files)
        else { return nil }
        var serving = tls.serving
        (serving.certificate, serving.key) = (certificate, key)
        serving.clientAuthorities = self.text(
            tls.clientAuthorities, tls.clientAuthoritiesFile, "client_ca_file", &files)
        return serving
    }

    private mutating func text(
        _ text: String?, _ path: String?, _ key: String, _ files: inout WebFile.Files
    ) -> String? {
        guard text == nil, let path, let node = self.section.value(of: key) else { return text }
        let file = path.hasPrefix("/") ? path : self.directory + path
        if key == "key_file" { files.keyFiles.append(file) }
        do {
            return try files.text(of: file)
        } catch {
            self.problems.add("\(file) \(error)", at: node)
            return nil
        }
    }

    /// The keys that a part of the policy may come from.
    static func keys(of part: AccessError.Part) -> [String] {
        switch part {
        case .certificate: ["cert_file", "cert"]
        case .key: ["key_file", "key"]
        case .clientAuthorities: ["client_ca_file", "client_ca"]
        case .tls: []
        }
    }
}
