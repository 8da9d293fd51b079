"""The hub: deploys engines, replays traffic, measures, searches and reports."""
