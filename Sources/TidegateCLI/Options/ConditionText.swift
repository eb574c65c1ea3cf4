internal import ArgumentParser
internal import Tidegate

/// Parses the conditions of `wait` and `run`.
enum ConditionText {
    /// The conditions, for help.
    static let help = """
        Conditions (default: route):
          carrier[:IF]             a link has a carrier
          address[:IF][:v4|v6]     a link has an address
          route[:v4|v6]            there is a default route
          gateway                  the default gateway answers on its link
          dns                      a resolver answers when asked for a.root-servers.net
          dns:NAME                 NAME has an address, looked up as programs do
          internet                 the URLs of --internet-check answer as they should
          host:NAME                there is a route to NAME, a name or an address
          host:NAME:PORT[/tcp]     it accepts connections
          host:NAME:PORT/tls       it completes a TLS handshake
          host:NAME:PORT/http      it answers GET / with a status below 400
          http://... https://...   a GET is answered with a status below 400

        Each check has 5 s. Redirects are answers and are not followed. Without --internet-check, internet asks the \
        connectivity checks of two well-known operators.
        """

    static func parse(_ text: String) throws -> WaitCondition {
        try OptionParsing.naming("--for", WaitCondition(text, zone: TargetText.zone))
    }
}
