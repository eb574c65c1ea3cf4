internal import ArgumentParser
internal import Tidegate

/// Parses the conditions of `wait` and `run`.
enum ConditionText {
    /// The conditions, for help.
    static let help = """
        Conditions: carrier[:IF], address[:IF][:v4|v6], route[:v4|v6], gateway, dns, internet, \
        host:NAME[:PORT[/tcp|tls|http]]. A host without a port must be routed; with a port it must accept \
        connections. The condition internet requests the URLs of --internet-check, or the connectivity checks of two \
        well-known operators.
        """

    static func parse(_ text: String) throws -> WaitCondition {
        do {
            return try WaitCondition(text, zone: TargetText.zone)
        } catch {
            throw ValidationError("--for: \(error)")
        }
    }
}
