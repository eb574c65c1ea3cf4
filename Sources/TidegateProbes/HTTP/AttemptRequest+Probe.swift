internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

extension AttemptRequest {
    /// Has a server of https be named `server` in the handshake, and its certificate be for that name or address; where
    /// the request goes, and what it asks for, stays.
    mutating func expect(server: String) throws(TextError) {
        let (url, port) = (self.url, self.url.target.port)
        guard url.scheme == .https else { return }
        let name: Target
        do throws(TargetError) {
            let host = try Target(server)
            name =
                if let address = host.address { Target(address: address, port: port) } else {
                    try Target("\(host.host):\(port ?? url.scheme.port)")
                }
        } catch {
            throw TextError("the server's name \"\(server)\" is none: \(error)")
        }
        guard name != url.target else { return }
        // libcurl takes the name for the handshake from the URL, and for the field, too.
        if !self.headers.contains(where: { $0.name.canonicalName == "host" }) {
            self.headers.append(try HTTPField(line: "Host: \(url.origin.authority)"))
        }
        self.url = url.at(name)
        self.connectsTo = url.target
    }
}

extension AttemptSource {
    /// The same as a module has it.
    init(_ source: ProbeSource) { self.init(address: source.address, interface: source.interface) }
}
