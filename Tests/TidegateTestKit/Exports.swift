// The doubles for apps are those of our own tests, too.
@_exported public import TidegateTesting
